import { describe, expect, it } from '@jest/globals';
import { boundShare, judgeRelay, type RelayHistory } from './relay-oracle.js';

const TO = '+14155550101';

/** A history without faults: two sends to one recipient were accepted, and a third is unknown. */
const SOUND: RelayHistory = {
  asked: [
    { id: 'snd_1', phoneNumber: TO, message: 'one' },
    { id: 'snd_2', phoneNumber: TO, message: 'two' },
    { id: 'snd_3', phoneNumber: TO, message: 'three' },
  ],
  shown: [
    { id: 'snd_1', status: 'delivered', messageId: 'm1' },
    { id: 'snd_2', status: 'unknown', messageId: null },
    { id: 'snd_3', status: 'sent', messageId: 'm3' },
  ],
  taken: [
    { phoneNumber: TO, message: 'one', messageIds: ['m1'] },
    { phoneNumber: TO, message: 'three', messageIds: ['m3'] },
  ],
  unanswered: new Set(),
};
const [one, three] = SOUND.taken;
const rulesOf = (changes: Partial<RelayHistory>): string[] =>
  judgeRelay({ ...SOUND, ...changes }).map(({ rule }) => rule);
const shown = (id: string, changes: object): RelayHistory['shown'] =>
  SOUND.shown.map((send) => (send.id === id ? { ...send, ...changes } : send));

describe('the oracle of the relay', () => {
  it('accepts a history without faults', () => {
    expect(judgeRelay(SOUND)).toEqual([]);
    expect(boundShare(SOUND)).toEqual({ bound: 2, of: 2 });
  });

  it('reports a text that upstream accepted twice', () => {
    expect(rulesOf({ taken: [...SOUND.taken, ...SOUND.taken.slice(1)] })).toEqual(['doubled']);
  });

  it('reports a text without a send request, and a text to another recipient', () => {
    const stray = { phoneNumber: TO, message: 'four', messageIds: ['m4'] };
    expect(rulesOf({ taken: [...SOUND.taken, stray] })).toEqual(['unasked']);
    expect(rulesOf({ taken: SOUND.taken.map((text) => ({ ...text, phoneNumber: '+14155550999' })) })).toEqual(
      ['unasked', 'unasked'],
    );
  });

  it('accepts one text for a request without a reply', () => {
    const maybe = { phoneNumber: TO, message: 'four', messageIds: ['m4'] };
    const unanswered = new Set(['four']);
    expect(rulesOf({ taken: [...SOUND.taken, maybe], unanswered })).toEqual([]);
    expect(rulesOf({ taken: [...SOUND.taken, maybe, maybe], unanswered })).toEqual(['doubled']);
  });

  it('reports texts in the wrong order', () => {
    expect(rulesOf({ taken: SOUND.taken.toReversed() })).toEqual(['disordered']);
  });

  it('reports a lost send and an unfinished send', () => {
    expect(rulesOf({ shown: SOUND.shown.slice(1) })).toEqual(['lost']);
    expect(boundShare({ ...SOUND, shown: SOUND.shown.slice(1) })).toEqual({ bound: 1, of: 1 });
    for (const status of ['queued', 'relaying', 'scheduled']) {
      expect(rulesOf({ shown: shown('snd_2', { status }) })).toEqual(['unended']);
    }
  });

  it('reports a send that is bound to the message of another send, and does not count it as bound', () => {
    const misbound = shown('snd_1', { messageId: 'm3' });
    expect(rulesOf({ shown: misbound })).toEqual(['misbound']);
    expect(boundShare({ ...SOUND, shown: misbound })).toEqual({ bound: 1, of: 2 });
    expect(rulesOf({ shown: shown('snd_2', { status: 'sent', messageId: 'm1' }) })).toEqual(['misbound']);
  });

  it('reports a send with a false status, and counts a send of unknown status as not bound', () => {
    expect(rulesOf({ shown: shown('snd_1', { status: 'failed', messageId: null }) })).toEqual(['dishonest']);
    expect(rulesOf({ shown: shown('snd_2', { status: 'accepted' }) })).toEqual(['dishonest']);
    const shy = shown('snd_1', { status: 'unknown', messageId: null });
    expect(rulesOf({ shown: shy })).toEqual([]);
    expect(boundShare({ ...SOUND, shown: shy })).toEqual({ bound: 1, of: 2 });
  });

  it('treats two messages for one text and file as one send', () => {
    if (one === undefined || three === undefined) throw new Error('the history has fewer than two texts');
    const taken = [{ ...one, messageIds: ['m0', 'm1'] }, three];
    expect(rulesOf({ taken })).toEqual([]);
    expect(boundShare({ ...SOUND, taken })).toEqual({ bound: 2, of: 2 });
  });
});
