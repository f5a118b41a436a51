import { describe, expect, it } from '@jest/globals';
import { boundShare, judgeRelay, type RelayHistory } from './relay-oracle.js';

const TO = '+14155550101';

/** A history without faults: two sends to one recipient were accepted, and a third is unknown. */
const SOUND: RelayHistory = {
  requested: [
    { id: 'snd_1', phoneNumber: TO, message: 'one' },
    { id: 'snd_2', phoneNumber: TO, message: 'two' },
    { id: 'snd_3', phoneNumber: TO, message: 'three' },
  ],
  shown: [
    { id: 'snd_1', status: 'delivered', messageId: 'm1' },
    { id: 'snd_2', status: 'unknown', messageId: null },
    { id: 'snd_3', status: 'sent', messageId: 'm3' },
  ],
  accepted: [
    { phoneNumber: TO, message: 'one', messageIds: ['m1'] },
    { phoneNumber: TO, message: 'three', messageIds: ['m3'] },
  ],
  withoutReply: new Set(),
};
const [one, three] = SOUND.accepted;
const rulesOf = (changes: Partial<RelayHistory>): string[] =>
  judgeRelay({ ...SOUND, ...changes }).map(({ rule }) => rule);
const shown = (id: string, changes: object): RelayHistory['shown'] =>
  SOUND.shown.map((send) => (send.id === id ? { ...send, ...changes } : send));

describe('the test oracle for relayed sends', () => {
  it('accepts a history without faults', () => {
    expect(judgeRelay(SOUND)).toEqual([]);
    expect(boundShare(SOUND)).toEqual({ bound: 2, of: 2 });
  });

  it('rejects a history in which upstream accepted a text twice', () => {
    expect(rulesOf({ accepted: [...SOUND.accepted, ...SOUND.accepted.slice(1)] })).toEqual(['duplicate']);
  });

  it('rejects a history with a text that was not requested, or that went to another recipient', () => {
    const stray = { phoneNumber: TO, message: 'four', messageIds: ['m4'] };
    expect(rulesOf({ accepted: [...SOUND.accepted, stray] })).toEqual(['unrequested']);
    expect(
      rulesOf({ accepted: SOUND.accepted.map((text) => ({ ...text, phoneNumber: '+14155550999' })) }),
    ).toEqual(['unrequested', 'unrequested']);
  });

  it('allows upstream to accept the text of an unanswered send request once, but not twice', () => {
    const maybe = { phoneNumber: TO, message: 'four', messageIds: ['m4'] };
    const withoutReply = new Set(['four']);
    expect(rulesOf({ accepted: [...SOUND.accepted, maybe], withoutReply })).toEqual([]);
    expect(rulesOf({ accepted: [...SOUND.accepted, maybe, maybe], withoutReply })).toEqual(['duplicate']);
  });

  it('rejects a history in which upstream accepted the texts of a recipient in the wrong order', () => {
    expect(rulesOf({ accepted: SOUND.accepted.toReversed() })).toEqual(['disordered']);
  });

  it('rejects a history with a lost or unfinished send', () => {
    expect(rulesOf({ shown: SOUND.shown.slice(1) })).toEqual(['lost']);
    expect(boundShare({ ...SOUND, shown: SOUND.shown.slice(1) })).toEqual({ bound: 1, of: 1 });
    for (const status of ['queued', 'relaying', 'scheduled']) {
      expect(rulesOf({ shown: shown('snd_2', { status }) })).toEqual(['unfinished']);
    }
  });

  it('rejects a history in which a send is bound to the message of another send, and does not count the wrongly bound send as bound', () => {
    const misbound = shown('snd_1', { messageId: 'm3' });
    expect(rulesOf({ shown: misbound })).toEqual(['misbound']);
    expect(boundShare({ ...SOUND, shown: misbound })).toEqual({ bound: 1, of: 2 });
    expect(rulesOf({ shown: shown('snd_2', { status: 'sent', messageId: 'm1' }) })).toEqual(['misbound']);
  });

  it('rejects a history in which a send has a wrong status, and counts a send of status `unknown` as not bound', () => {
    expect(rulesOf({ shown: shown('snd_1', { status: 'failed', messageId: null }) })).toEqual([
      'false status',
    ]);
    expect(rulesOf({ shown: shown('snd_2', { status: 'accepted' }) })).toEqual(['false status']);
    const shy = shown('snd_1', { status: 'unknown', messageId: null });
    expect(rulesOf({ shown: shy })).toEqual([]);
    expect(boundShare({ ...SOUND, shown: shy })).toEqual({ bound: 1, of: 2 });
  });

  it('counts a send as one send if upstream shows its text and its file as two messages', () => {
    if (one === undefined || three === undefined) throw new Error('the history has fewer than two texts');
    const accepted = [{ ...one, messageIds: ['m0', 'm1'] }, three];
    expect(rulesOf({ accepted })).toEqual([]);
    expect(boundShare({ ...SOUND, accepted })).toEqual({ bound: 2, of: 2 });
  });
});
