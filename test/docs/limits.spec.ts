import { expect, it } from '@jest/globals';
import { MAX_ACCOUNTS } from '#accounts';
import { MAX_EXAMINED_EVENTS } from '#events';
import { WorkerEnvironment } from '#platform';
import { MAX_REPLAYED_EVENTS } from '#webhooks';
import { MAX_EXAMINED_FOR_TOKENS } from '../../apps/gateway/src/auth/contact-access.js';
import { REPLY_MEMORY_LIMITS } from '../../apps/gateway/src/auth/reply-memory.js';
import { TOKEN_READ_LIMITS } from '../../apps/gateway/src/contacts/upstream-reads.js';
import { WAIT_SETTINGS } from '../../apps/gateway/src/events/wait-settings.js';
import { LIMITS } from '../../apps/gateway/src/http/limits.js';
import { MAX_UNFINISHED_SENDS } from '../../apps/gateway/src/messages/send-quota.js';
import { UPLOAD_LIMITS } from '../../apps/gateway/src/messages/upload-slots.js';
import { MAX_API_KEYS_OF_ALL_ACCOUNTS } from '../../libs/accounts/src/api-key/stored-api-key.js';
import { MAX_HEADER_BYTES } from '../../libs/webhooks/src/destination/http-guarded-pool.js';
import { read } from './pages.js';

const DEFAULTS = new WorkerEnvironment();
const RETRY_HOURS = Math.round(
  DEFAULTS.WEBHOOK_RETRY_SCHEDULE_SECONDS.reduce((sum, wait) => sum + wait, 0) / 3_600,
);

const count = (n: number): string => n.toLocaleString('en-US');
const seconds = (ms: number): string => count(ms / 1_000);
const kilobytes = (bytes: number): string => count(bytes / 1_024);
const mebibytes = (bytes: number): string => kilobytes(bytes / 1_024);

it.each([
  [
    'waiting callers',
    `at most ${count(WAIT_SETTINGS.maxPerToken)} callers with one token, ${count(WAIT_SETTINGS.maxPerAccountForTokens)} with tokens of one account, ${count(WAIT_SETTINGS.maxPerAccount)} of an account (all 429) and ${count(WAIT_SETTINGS.max)} in total (503) may wait`,
  ],
  ['silent streams', `sends a comment after ${seconds(WAIT_SETTINGS.commentMs)} seconds without an event`],
  ['slow streams', `reads nothing for ${seconds(WAIT_SETTINGS.writeTimeoutMs)} seconds is disconnected`],
  [
    'uploads at a time',
    `at most ${count(UPLOAD_LIMITS.maxPerToken)} uploads of a token, ${count(UPLOAD_LIMITS.maxPerAccountForTokens)} of the tokens of an account, ${count(UPLOAD_LIMITS.maxPerAccount)} of an account (all 429) and ${count(UPLOAD_LIMITS.max)} in total (503)`,
  ],
  ['headers', `Max ${kilobytes(LIMITS.headersBytes)} KB of headers, within ${seconds(LIMITS.headersMs)} s`],
  ['JSON', `max ${kilobytes(LIMITS.bodyBytes / 1_024)} MB of JSON body, within ${seconds(LIMITS.bodyMs)} s`],
  [
    'the pace of uploads',
    `at least ${kilobytes(LIMITS.paceBytes)} KB every ${seconds(LIMITS.paceMs)} s, within ${count(LIMITS.requestMs / 60_000)} minutes in total`,
  ],
  [
    'text parts',
    `at most ${kilobytes(LIMITS.partBytes)} KiB each and ${kilobytes(LIMITS.allPartsBytes)} KiB together`,
  ],
  ['slow readers', `must read the reply within ${seconds(LIMITS.responseMs)} s`],
  ['connections', `Max ${count(LIMITS.connections)} connections per gateway`],
  [
    'unread replies',
    `at most ${mebibytes(REPLY_MEMORY_LIMITS.maxPerToken)} MiB of unread replies of a token, ${mebibytes(REPLY_MEMORY_LIMITS.maxPerAccountForTokens)} MiB of the tokens of an account, ${mebibytes(REPLY_MEMORY_LIMITS.maxPerAccount)} MiB of an account (all 429) and ${mebibytes(REPLY_MEMORY_LIMITS.max)} MiB in total (503) at a time; replies up to ${kilobytes(LIMITS.smallReplyBytes)} KiB do not count`,
  ],
  [
    'reads with tokens',
    `at most ${count(TOKEN_READ_LIMITS.maxPerToken)} reads of a token and ${count(TOKEN_READ_LIMITS.maxPerAccountForTokens)} of the tokens of an account at a time`,
  ],
  ['unfinished sends', `may have at most ${count(MAX_UNFINISHED_SENDS)} sends together`],
  [
    'examined events',
    `examines at most ${count(MAX_EXAMINED_EVENTS)} events, or ${count(MAX_EXAMINED_FOR_TOKENS)} with a token`,
  ],
  ['accounts', `Limits: ${count(MAX_ACCOUNTS)} accounts,`],
  ['API keys', `${count(MAX_API_KEYS_OF_ALL_ACCOUNTS)} keys in all; 409 beyond that`],
  [
    'delivery attempts',
    `by default ${count(DEFAULTS.WEBHOOK_RETRY_SCHEDULE_SECONDS.length + 1)} attempts over about ${count(RETRY_HOURS)} hours`,
  ],
  [
    'the time of an attempt',
    `An attempt ends after \`WEBHOOK_TIMEOUT_MS\` (${seconds(DEFAULTS.WEBHOOK_TIMEOUT_MS)} seconds by default)`,
  ],
  ['replies of receivers', `The headers of a reply may have ${kilobytes(MAX_HEADER_BYTES)} KB`],
  ['replays', `A range of more than ${count(MAX_REPLAYED_EVENTS)} events gets 400`],
])('the API guide states the limits that the product enforces (%s)', (_, phrase) => {
  expect(read('docs/api-guide.md')).toContain(phrase);
});
