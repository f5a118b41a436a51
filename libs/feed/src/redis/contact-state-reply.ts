import type { ContactState } from '../snapshot/contact-state.js';
import { DamagedSnapshotError } from '../packed-bytes.js';
import { unpackRebuildablePollState } from '../snapshot/rebuildable-poll-state.js';
import { EMPTY_POLL_STATE, type PollState } from '../snapshot/poll-state.js';
import { unpackPollState } from '../snapshot/poll-state-codec.js';

/**
 * The stored polling state of a contact, as `contact-state.lua` returns it. Strings are Buffers. If the
 * contact is unknown, the reply has no fields.
 */
export interface ContactStateLuaReply {
  now: Buffer;
  version: Buffer;
  pollState: Buffer | undefined;
  emitAfter: Buffer;
  expediteRequests: Buffer;
  deletionsConfirmedAt: Buffer;
  storedMessages: number;
  epoch: Buffer;
  lost: Buffer;
  listSuspectSince: Buffer;
  suspectAt: Buffer;
  messagesShownAt: Buffer;
  contacts: number;
  revisionFloor: Buffer;
  run: Buffer;
  failures: Buffer;
  longestPage: Buffer;
  extension: Buffer;
  hasRow: number;
}

/** The fields of a {@link ContactStateLuaReply} in the order in which `contact-state.lua` returns them. */
const CONTACT_STATE_FIELDS = [
  ...(['now', 'version', 'pollState', 'emitAfter', 'expediteRequests', 'deletionsConfirmedAt'] as const),
  ...(['storedMessages', 'epoch', 'lost', 'listSuspectSince', 'suspectAt', 'messagesShownAt'] as const),
  ...(['contacts', 'revisionFloor', 'run', 'failures', 'longestPage', 'extension', 'hasRow'] as const),
];

/**
 * Converts the state of a contact from an array, as `claim-polls.lua` returns it, to a {@link ContactStateLuaReply}.
 */
export function parseContactStateLuaReply(values: readonly unknown[]): ContactStateLuaReply {
  const reply: Record<string, unknown> = {};
  for (const [index, name] of CONTACT_STATE_FIELDS.entries()) reply[name] = values[index];
  return reply as unknown as ContactStateLuaReply;
}

/**
 * Returns the polling state of a contact, or undefined if the contact is unknown.
 * @param areRowsKept true if conversation rows are stored. If false, `hasRow` of the result is always true.
 */
export function contactStateOf(reply: ContactStateLuaReply, areRowsKept: boolean): ContactState | undefined {
  const { pollState: packed, extension, storedMessages, contacts, hasRow } = reply;
  if (!(packed instanceof Uint8Array)) return undefined;
  const pollState = pollStateOf(packed);
  const [emitAfter, epoch] = [String(reply.emitAfter), String(reply.epoch)];
  const deletionsConfirmedAt = timeOf(reply.deletionsConfirmedAt);
  const listSuspectSince = timeOf(reply.listSuspectSince);
  const [suspectAt, messagesShownAt] = [timeOf(reply.suspectAt), timeOf(reply.messagesShownAt)];
  return {
    version: Number(reply.version),
    now: Number(reply.now),
    receivedAt: performance.now(),
    pollState: pollState ?? EMPTY_POLL_STATE,
    extension: extension instanceof Uint8Array ? unpackRebuildablePollState(Buffer.from(extension)) : {},
    failures: Number(reply.failures),
    longestPage: Number(reply.longestPage),
    ...(emitAfter === '' ? {} : { emitAfter: Number(emitAfter) }),
    expediteRequests: Number(reply.expediteRequests),
    storedMessages,
    hasRow: !areRowsKept || hasRow === 1,
    ...(epoch === '' ? {} : { epoch }),
    ...(deletionsConfirmedAt === undefined ? {} : { deletionsConfirmedAt }),
    ...(listSuspectSince === undefined ? {} : { listSuspectSince }),
    ...(suspectAt === undefined ? {} : { suspectAt }),
    ...(messagesShownAt === undefined ? {} : { messagesShownAt }),
    contacts,
    lost: String(reply.lost) === '1' || pollState === undefined,
    revisionFloor: Number(reply.revisionFloor),
    redisRun: String(reply.run),
  };
}

function timeOf(text: Buffer): number | undefined {
  return text.length === 0 ? undefined : Number(text);
}

/** Unpacks the {@link PollState} of a contact. Returns undefined if the bytes are damaged. */
function pollStateOf(packed: Buffer): PollState | undefined {
  if (packed.length === 0) return EMPTY_POLL_STATE;
  try {
    return unpackPollState(packed);
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return undefined;
    throw error;
  }
}
