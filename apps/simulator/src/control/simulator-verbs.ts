import { listOf, oneOf, share, text, whole, word } from '../checks.js';
import type { Check } from '../checks.js';
import { readFault } from '../fault-kinds.js';
import type { FaultMatch, FaultRule } from '../faults.js';
import { Input } from '../input.js';
import { InvalidInput } from '../input-errors.js';
import type { SimulatorCore } from '../simulator-core.js';
import { contactOnWire, messageOnWire } from '../wire-shapes.js';
import type { Contact } from '../world/entities.js';
import { TIMESTAMP } from './message-verbs.js';
import { replaceUpstream } from './replace-upstream.js';
import type { Verbs } from './verb.js';
import { ID } from './verb.js';
import { messageOf } from '../error-properties.js';

const SEED = whole(0, 4_294_967_295);
const KINDS = listOf(word(64), '', 1, 100);

export const simulatorVerbs: Verbs = {
  reset: (core, body) => {
    const input = new Input(body);
    const options = {
      seed: input.maybe('seed', SEED, 0),
      settings: input.raw('settings'),
      now: input.maybe('now', TIMESTAMP, 0),
    };
    input.done();
    core.reset(options);
    return { seed: core.seed, settings: core.settings };
  },

  settings: (core, body) => core.updateSettings(body ?? {}),

  faults: (core, body) => {
    for (const rule of readRules(body)) core.faults.add(rule);
    return { faults: core.faults.list() };
  },

  'faults/clear': (core, body) => {
    new Input(body).done();
    core.faults.clear();
    return { faults: [] };
  },

  advance: (core, body) => {
    const input = new Input(body);
    const ms = input.required('ms', whole(0, 10 * 365 * 86_400_000), 0);
    input.done();
    if (!core.world.clock.manual) throw new InvalidInput('ms', 'requires the setting clock=manual');
    core.act((world) => {
      world.advance(ms);
    });
    return { now: core.world.clock.now(), upstreamNow: core.world.upstreamNow() };
  },

  ledger: (core, body) => {
    const input = new Input(body);
    const since = input.optional('since', whole(0, Number.MAX_SAFE_INTEGER), 0);
    const limit = input.optional('limit', whole(1, 1_000_000), 10_000);
    const kinds = input.optional('kind', oneOrMore, []);
    input.done();
    return core.ledger.read({ since, kinds, limit });
  },

  'ledger/clear': (core, body) => {
    new Input(body).done();
    core.ledger.clear();
    return { next: core.ledger.next };
  },

  state: (core, body) => {
    const input = new Input(body);
    const contactId = input.maybe('contactId', ID, '');
    input.done();
    return core.act(() => stateOf(core, contactId));
  },

  'upstream-replaced': (core, body) => {
    const input = new Input(body);
    const keep = input.optional('keep', oneOf('nothing', 'contacts', 'everything'), 'nothing');
    input.done();
    core.act((world) => {
      replaceUpstream(world, keep);
    });
    core.ledger.record({ kind: 'simulator.replaced', detail: { keep } });
    return { contacts: core.world.contacts.listed().map(({ id, phoneNumber }) => ({ id, phoneNumber })) };
  },
};

/** Accepts `'message.*'`, `['request', 'send.accepted']` or, as in a query, `'request,send.accepted'`. */
const oneOrMore: Check<string[]> = (value, field) =>
  KINDS(typeof value === 'string' ? value.split(',') : value, field, []);

function stateOf(core: SimulatorCore, contactId: string | undefined): object {
  const { world } = core;
  const contacts = [...world.contacts.all()].filter(({ id }) => contactId === undefined || id === contactId);
  const wanted = new Set(contacts);
  const hidden = new Map<Contact, object[]>();
  for (const message of world.messages.all()) {
    if (message.state === 'listed' || !wanted.has(message.contact)) continue;
    const list = hidden.get(message.contact) ?? [];
    list.push({ ...messageOnWire(message, core.settings), state: message.state });
    hidden.set(message.contact, list);
  }
  return {
    seed: core.seed,
    settings: core.settings,
    accountNumber: world.accountNumber,
    now: world.clock.now(),
    upstreamNow: world.upstreamNow(),
    contacts: contacts.map((contact) => ({
      id: contact.id,
      phoneNumber: contact.phoneNumber,
      state: contact.state,
      onWire: contactOnWire(contact, core.settings),
      /** Listed messages, oldest first. */
      messages: contact.messages.map((message) => messageOnWire(message, core.settings)),
      /** Pending and deleted messages. */
      unlisted: hidden.get(contact) ?? [],
    })),
    pending: world.timetable.pending(),
    faults: core.faults.list(),
    ledger: { first: core.ledger.first, next: core.ledger.next },
  };
}

/** Reads one rule, an array of rules, or `{faults: [...]}`. Reads all rules before any rule is added. */
function readRules(body: unknown): FaultRule[] {
  if (Array.isArray(body)) return listOf(RULE, NO_RULE, 1, 10_000)(body, 'faults', []);
  const input = new Input(body);
  if (!input.has('faults')) return [RULE(body, '', NO_RULE)];
  const rules = input.required('faults', listOf(RULE, NO_RULE, 1, 10_000), []);
  input.done();
  return rules;
}

const NO_RULE: FaultRule = { match: {}, fault: { kind: 'resetBefore' }, remaining: 1, probability: 1 };

const RULE: Check<FaultRule> = (value, field) => {
  const input = new Input(value, field);
  const prefix = field === '' ? '' : `${field}.`;
  const match = readMatch(input.raw('match'), `${prefix}match`);
  const given = input.raw('fault');
  if (given === undefined) throw new InvalidInput(`${prefix}fault`, 'is required');
  const fault = readFault(given, `${prefix}fault`);
  if (fault.kind === 'resetDuringUpload') requireUploads(match, `${prefix}match`);
  const probability = input.maybe('probability', share(), 1);
  const times = input.maybe('times', TIMES, 1);
  input.done();
  // Default of `times`: a rule with a probability applies until it is cleared, a rule without one applies
  // once.
  const remaining =
    times === undefined ? (probability === undefined ? 1 : null) : times === 'always' ? null : times;
  return { match, fault, remaining, probability: probability ?? 1 };
};

const TIMES: Check<number | 'always'> = (value, field) =>
  value === 'always' ? value : whole(1, 1_000_000_000)(value, field, 1);

function readMatch(value: unknown, field: string): FaultMatch {
  const input = new Input(value, field);
  const method = input.maybe('method', word(16), '');
  const path = input.maybe('path', REGEX, '');
  const contactId = input.maybe('contactId', ID, '');
  const phoneNumber = input.maybe('phoneNumber', word(64), '');
  input.done();
  return {
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
    ...(contactId === undefined ? {} : { contactId }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
  };
}

/** Rejects conditions under which `resetDuringUpload` never applies. */
function requireUploads(match: FaultMatch, field: string): void {
  for (const name of ['contactId', 'phoneNumber'] as const)
    if (match[name] !== undefined)
      throw new InvalidInput(
        `${field}.${name}`,
        'cannot be used with resetDuringUpload, which applies before the body is read',
      );
  if (match.method !== undefined && match.method.toUpperCase() !== 'POST')
    throw new InvalidInput(`${field}.method`, 'must be POST for resetDuringUpload');
}

const REGEX: Check<string> = (value, field) => {
  const source = text(500)(value, field, '');
  try {
    new RegExp(source, 'u');
  } catch (error) {
    throw new InvalidInput(field, `is not a valid regular expression: ${messageOf(error)}`);
  }
  return source;
};
