import { describe, expect, it } from '@jest/globals';
import { FeedOracle } from './feed-oracle.js';
import type { EmittedEvent } from './message-check.js';
import type { LedgerEntry } from './truth.js';

const C = 'con_1';
const T = 1_800_000_000_000;
const SECOND = 1_000;

/** The history of one contact and the events of a feed about it. Times are seconds from the start. */
class Scene {
  readonly ledger: LedgerEntry[] = [];
  readonly events: EmittedEvent[] = [];
  private readonly forms = new Map<
    string,
    { text: string; delivered: boolean; read: boolean; revision: number }
  >();
  private sequence = 0;

  constructor() {
    this.ledger.push({ kind: 'contact.created', time: T, contactId: C });
  }

  created(at: number, messageId: string, direction: 'inbound' | 'outbound' = 'inbound'): this {
    const form = {
      text: `Text of ${messageId}`,
      delivered: direction === 'inbound',
      read: false,
      revision: 0,
    };
    this.forms.set(messageId, form);
    const { text: message, delivered, read } = form;
    return this.happened(at, { kind: 'message.created', messageId, direction, message, delivered, read });
  }

  changed(
    at: number,
    messageId: string,
    to: { message?: string; delivered?: boolean; read?: boolean },
  ): this {
    const form = this.form(messageId);
    form.revision += 1;
    const changes: Record<string, { from: unknown; to: unknown }> = {};
    if (to.message !== undefined) changes['message'] = { from: form.text, to: to.message };
    if (to.delivered !== undefined) changes['status.delivered'] = { from: form.delivered, to: to.delivered };
    if (to.read !== undefined) changes['status.read'] = { from: form.read, to: to.read };
    Object.assign(form, { text: to.message ?? form.text, delivered: to.delivered ?? form.delivered });
    form.read = to.read ?? form.read;
    return this.happened(at, { kind: 'message.changed', messageId, revision: form.revision, changes });
  }

  deleted(at: number, messageId: string): this {
    return this.happened(at, { kind: 'message.deleted', messageId });
  }

  served(at: number, messageIds: string[], damage: string | null = null): this {
    const revisions = messageIds.map((id) => this.form(id).revision);
    return this.happened(at, { kind: 'list.served', ids: messageIds, revisions, damage });
  }

  /** Adds an event with the current version of the message. */
  emitted(at: number, type: string, messageId: string, changes?: object): this {
    const { text, delivered, read } = this.form(messageId);
    this.sequence += 1;
    this.events.push({
      id: `evt_${this.sequence}`,
      type: `message.${type}`,
      timestamp: new Date(T + at * SECOND).toISOString(),
      contactId: C,
      sequence: this.sequence,
      data: {
        contactId: C,
        message: { id: messageId, message: text, status: { delivered, read } },
        ...(changes === undefined ? {} : { changes }),
      },
    });
    return this;
  }

  /** The broken rules, in order. */
  brokenRules(baseline = 1): string[] {
    const oracle = new FeedOracle();
    oracle.observe(this.ledger.slice(0, baseline));
    oracle.endBaseline();
    oracle.observe(this.ledger.slice(baseline));
    return oracle.judge(this.events).map(({ rule }) => rule);
  }

  private happened(at: number, entry: Omit<LedgerEntry, 'time' | 'contactId'>): this {
    this.ledger.push({ ...entry, contactId: C, time: T + at * SECOND });
    return this;
  }

  private form(id: string): { text: string; delivered: boolean; read: boolean; revision: number } {
    const form = this.forms.get(id);
    if (form === undefined) throw new Error(`no message ${id}`);
    return form;
  }
}

const DELIVERED = { 'status.delivered': { from: false, to: true } };
const READ = { 'status.read': { from: false, to: true } };

/** An outbound message that was sent, delivered and read, with an event for each. */
function completeScene(): Scene {
  return new Scene()
    .created(1, 'a', 'outbound')
    .served(2, ['a'])
    .emitted(2, 'sent', 'a')
    .changed(3, 'a', { delivered: true })
    .served(4, ['a'])
    .emitted(4, 'delivered', 'a', DELIVERED)
    .changed(5, 'a', { read: true, message: 'Edited' })
    .served(6, ['a'])
    .emitted(6, 'read', 'a', READ)
    .emitted(6, 'updated', 'a', { message: { to: 'Edited' } });
}

describe('the test oracle for emitted events', () => {
  it('accepts an event log in which each change was emitted once', () => {
    expect(completeScene().brokenRules()).toEqual([]);
  });

  it('requires no event for a change that was undone between two reads', () => {
    const scene = completeScene()
      .changed(7, 'a', { read: false })
      .changed(8, 'a', { read: true })
      .served(9, ['a']);
    expect(scene.brokenRules()).toEqual([]);
  });

  it('requires message.received for a new message, but not for a message of the baseline', () => {
    const scene = new Scene().created(1, 'old').created(2, 'new').served(3, ['old', 'new']);
    expect(scene.brokenRules(2)).toEqual(['miss']);
    expect(scene.emitted(3, 'received', 'new').brokenRules(2)).toEqual([]);
    expect(scene.emitted(4, 'received', 'old').brokenRules(2)).toEqual(['double']);
  });

  it('rejects an event log that lacks the last change of a message', () => {
    expect(completeScene().changed(7, 'a', { message: 'Again' }).served(8, ['a']).brokenRules()).toEqual([
      'miss',
    ]);
  });

  it('rejects an event log that lacks an earlier version of a message only if upstream showed that version repeatedly', () => {
    const scene = completeScene().changed(10, 'a', { message: 'Stood' });
    for (const at of [20, 30, 40, 51]) scene.served(at, ['a']);
    expect(scene.changed(100, 'a', { message: 'Edited' }).served(101, ['a']).brokenRules()).toEqual(['miss']);
    const seldom = completeScene().changed(10, 'a', { message: 'Stood' }).served(20, ['a']).served(51, ['a']);
    expect(seldom.changed(100, 'a', { message: 'Edited' }).served(101, ['a']).brokenRules()).toEqual([]);
  });

  it('rejects an event log that lacks a change that upstream showed, even if a later event follows', () => {
    const scene = new Scene().created(1, 'a', 'outbound').served(2, ['a']).emitted(2, 'sent', 'a');
    scene.changed(3, 'a', { delivered: true, message: 'Edited' }).served(4, ['a']);
    scene.emitted(4, 'delivered', 'a', DELIVERED);
    scene.changed(5, 'a', { read: true }).served(6, ['a']).emitted(6, 'read', 'a', READ);
    expect(scene.brokenRules()).toContain('miss');
  });

  it.each(['sent', 'delivered', 'read', 'updated'])(
    'rejects an event log with two message.%s events for one change',
    (type) => {
      const changes = {
        sent: undefined,
        delivered: DELIVERED,
        read: READ,
        updated: { message: { to: 'Edited' } },
      }[type];
      expect(completeScene().emitted(7, type, 'a', changes).brokenRules()).toContain('double');
    },
  );

  it('rejects an event log with a second message.read for a message, even if the message became unread in between', () => {
    const scene = completeScene().changed(7, 'a', { read: false }).served(8, ['a']);
    scene.emitted(8, 'updated', 'a', { 'status.read': { from: true, to: false } });
    scene.changed(9, 'a', { read: true }).served(10, ['a']);
    expect(scene.emitted(10, 'read', 'a', READ).brokenRules()).toEqual(['double']);
  });

  it('rejects an event for a message that upstream had not yet shown in a complete reply', () => {
    const scene = new Scene().created(1, 'a').served(2, ['a'], 'truncated').emitted(3, 'received', 'a');
    expect(scene.served(4, ['a']).brokenRules()).toEqual(['false']);
  });

  it('rejects an event that has an older version of a message than the previous event', () => {
    const scene = new Scene().created(1, 'a').served(2, ['a']);
    scene.changed(3, 'a', { message: 'Newer' }).served(4, ['a']).emitted(4, 'received', 'a');
    scene
      .changed(5, 'a', { message: 'Text of a' })
      .emitted(6, 'updated', 'a', { message: { to: 'Text of a' } });
    expect(scene.served(7, ['a']).brokenRules()).toEqual(['false']);
  });

  it('rejects an event for a message that never existed', () => {
    const scene = new Scene().created(1, 'a').served(2, ['a']).emitted(2, 'received', 'a');
    scene.ledger.splice(1);
    expect(scene.brokenRules()).toEqual(['false']);
  });

  it('rejects an event log with a gap in a sequence or a duplicate event id', () => {
    const gap = completeScene();
    gap.events.splice(1, 1);
    expect(gap.brokenRules()).toContain('gap');
    const twice = completeScene();
    twice.events[3] = { ...twice.events[3], id: 'evt_1' } as EmittedEvent;
    expect(twice.brokenRules()).toEqual(['gap']);
  });

  it('rejects message.deleted if the message still exists, was deleted less than a minute ago, or already had a message.deleted', () => {
    expect(completeScene().emitted(100, 'deleted', 'a').brokenRules()).toContain('false deletion');
    expect(completeScene().deleted(50, 'a').emitted(100, 'deleted', 'a').brokenRules()).toEqual([
      'false deletion',
    ]);
    expect(completeScene().deleted(50, 'a').emitted(115, 'deleted', 'a').brokenRules()).toEqual([]);
    const twice = completeScene().deleted(50, 'a').emitted(115, 'deleted', 'a').emitted(180, 'deleted', 'a');
    expect(twice.brokenRules()).toEqual(['double']);
  });

  it('requires message.deleted for each deleted message', () => {
    expect(completeScene().deleted(50, 'a').brokenRules()).toEqual(['late deletion']);
  });

  it('rejects contact.deleted if the contact still exists', () => {
    const scene = completeScene();
    scene.events.push({
      ...{ id: 'evt_9', type: 'contact.deleted', contactId: C, sequence: 5, data: {} },
      timestamp: new Date(T + 200 * SECOND).toISOString(),
    });
    expect(scene.brokenRules()).toEqual(['false deletion', 'miss']);
  });
});
