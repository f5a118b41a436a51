/** @import { Caller } from './caller.mjs' */

/**
 * A request of a caller and its reply.
 * @typedef {{ account: string, path: string, reply: object }} Answer
 */

/**
 * Requests all stored data of an account that callers can read: lists page by page, and each object alone.
 * @param {Caller} caller
 * @param {string} account
 * @returns {Promise<Answer[]>}
 */
export async function answersOf(caller, account) {
  /** @type {Answer[]} */
  const answers = [];
  const ask = async (/** @type {string} */ path) => {
    const reply = await caller.build.json('GET', path, undefined, caller.keyOf(account));
    answers.push({ account, path, reply });
    return reply;
  };
  const pages = async (/** @type {string} */ list, /** @type {string} */ parameter) => {
    const found = [];
    for (let path = list, more = true; more;) {
      const reply = await ask(path);
      found.push(
        ...(reply.sends ?? reply.deliveries ?? reply.events ?? reply.conversations ?? reply.entries),
      );
      more = reply.hasMore ?? reply.next !== null;
      path = `${list}&${parameter}=${reply.next}`;
    }
    return found;
  };

  await ask('/v1/accounts');
  await ask('/v1/api-keys');
  for (const { id } of await pages('/v1/sends?limit=10', 'cursor')) await ask(`/v1/sends/${id}`);
  const { webhooks } = await ask('/v1/webhooks');
  for (const { id } of webhooks) {
    await ask(`/v1/webhooks/${id}`);
    await ask(`/v1/webhooks/${id}/secret`);
    await pages(`/v1/webhooks/${id}/deliveries?limit=20`, 'cursor');
  }
  await pages('/v1/events?limit=25', 'after');
  // Builds of the first days had no conversations and no audit log.
  const { paths } = await caller.build.json('GET', '/docs/openapi.json');
  if (paths['/v1/conversations'] !== undefined) await pages('/v1/conversations?limit=5', 'cursor');
  if (paths['/v1/audit'] !== undefined) await pages('/v1/audit?limit=5', 'cursor');
  return answers;
}
