// Measures how many messages per second the diff processes, including hashing, relative to JSON.parse of the
// same pages.
// Some imports use file paths, because the libs do not export those parts.
import { parseMessage, type UpstreamMessage } from '#upstream';
import { compareMessages } from '../../libs/feed/src/diff/compared-message.js';
import { diffMessages } from '../../libs/feed/src/diff/diff.js';
import { packKnownMessage, unpackKnownMessage } from '../../libs/feed/src/snapshot/known-message-codec.js';
import type { KnownMessage } from '../../libs/feed/src/snapshot/known-message.js';
import { parseReplyList } from '../../libs/upstream/src/reply/reply-list.js';
import { atLeast, heading, information, median, short, timed } from './figures.js';
import { idOf, messagesOf, type WireMessage } from './messages.js';

/** Minimum ratio of the diff's message rate to the message rate of JSON.parse. */
const MIN_RATIO = 0.3;
const PAGES = 100;
const PAGE = 20;
const ROUNDS = 61;
const WARM_UP = 15;

interface Page {
  text: string;
  known: ReadonlyMap<string, KnownMessage>;
}

const now = Date.UTC(2026, 5, 1);
const NO_SENDS = new Map<string, { sendId: string }>();

/** Returns the known messages of a page as a later poll reads them from Redis. */
function knownOf(observed: readonly UpstreamMessage[]): Map<string, KnownMessage> {
  const { known } = diffMessages({
    contactId: 'c',
    compared: compareMessages(observed, new Map()),
    sends: NO_SENDS,
    firstReadEventRule: 'silent',
  });
  return new Map([...known].map(([id, message]) => [id, unpackKnownMessage(packKnownMessage(message))]));
}

const textOf = (messages: readonly WireMessage[]): string => JSON.stringify({ messages });
const read = (text: string): UpstreamMessage[] => parseReplyList(text, 'messages', parseMessage).items;

/** Changes one message of the page: a flag, its text, or an additional attachment. */
function changed(messages: readonly WireMessage[], n: number): WireMessage[] {
  return messages.map((message, i) => {
    if (i !== n % messages.length) return message;
    if (n % 4 === 0) return { ...message, message: `${message.message} (edited)` };
    if (n % 4 === 1) {
      const attachment = {
        id: idOf(`late ${n}`),
        url: 'https://files.example/late.jpg',
        contentType: 'image/jpeg',
        size: n,
      };
      return { ...message, attachments: [...message.attachments, attachment] };
    }
    return { ...message, status: { ...message.status, read: !message.status.read } };
  });
}

const originals = Array.from({ length: PAGES }, (_, n) => messagesOf(n, PAGE, now));
const remembered = originals.map((messages) => knownOf(read(textOf(messages))));
const NOTHING = new Map<string, KnownMessage>();

const mixes: Record<string, Page[]> = {
  'nothing changed': originals.map((messages, n) => ({
    text: textOf(messages),
    known: remembered[n] ?? NOTHING,
  })),
  '1 in 20 changed': originals.map((messages, n) => ({
    text: textOf(changed(messages, n)),
    known: remembered[n] ?? NOTHING,
  })),
  'all are new': originals.map((messages) => ({ text: textOf(messages), known: NOTHING })),
};

/** Durations of one round over all pages, in milliseconds, and the number of events. */
interface Round {
  parse: number;
  reading: number;
  diff: number;
  events: number;
}

function round(pages: readonly Page[]): Round {
  const parse = timed(() => {
    for (const { text } of pages) JSON.parse(text);
  });
  // Parses the pages again in every round, so that no round profits from cached results of an earlier round.
  let observed: UpstreamMessage[][] = [];
  const reading = timed(() => {
    observed = pages.map(({ text }) => read(text));
  });
  let events = 0;
  const differing = timed(() => {
    pages.forEach(({ known }, n) => {
      const compared = compareMessages(observed[n] ?? [], known);
      events += diffMessages({ contactId: 'c', compared, sends: NO_SENDS }).events.length;
    });
  });
  return { parse, reading, diff: differing, events };
}

heading(
  `diff beside JSON.parse: ${PAGES} pages of ${PAGE} messages, medians of ${ROUNDS} interleaved rounds`,
);
const names = Object.keys(mixes);
const rounds = new Map<string, Round[]>(names.map((name) => [name, []]));
for (let n = 0; n < WARM_UP + ROUNDS; n += 1) {
  for (const name of names) {
    const result = round(mixes[name] ?? []);
    if (n >= WARM_UP) rounds.get(name)?.push(result);
  }
}
for (const [name, results] of rounds) {
  const [parse, reading, differing] = [
    median(results.map((result) => result.parse)),
    median(results.map((result) => result.reading)),
    median(results.map((result) => result.diff)),
  ];
  const perSecond = (ms: number): string => Math.round((PAGES * PAGE * 1_000) / ms).toLocaleString('en');
  atLeast(MIN_RATIO, parse / differing, `${name}: rate of diff ÷ rate of JSON.parse`);
  information(
    `  diff ${perSecond(differing)} messages/s, JSON.parse ${perSecond(parse)} messages/s, ` +
      `${short((results[0]?.events ?? 0) / PAGES)} events a page; ` +
      `${short(parse / (differing + reading - parse))} with the reading of what JSON.parse gave, ` +
      `${short(parse / (differing + reading))} with JSON.parse, too`,
  );
}
