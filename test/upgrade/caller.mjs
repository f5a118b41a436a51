import { until } from './old-build.mjs';

/** @import { OldBuild } from './old-build.mjs' */

/**
 * Ids of the objects in the snapshot, by kind of object and name.
 * @typedef {object} Names
 * @property {Record<string, string>} sends
 * @property {Record<string, string>} webhooks
 * @property {Record<string, string>} contacts
 * @property {Record<string, string>} messages
 * @property {Record<string, string>} keys API keys
 * @property {Record<string, { key: string, body: object }>} idempotent requests with an idempotency key, by send
 */

/** Calls the API of the old build and controls its upstream. Records the ids of all objects that it creates. */
export class Caller {
  /** @type {Names} */
  names = { sends: {}, webhooks: {}, contacts: {}, messages: {}, keys: {}, idempotent: {} };
  #numbers = 0;

  /** @param {OldBuild} build */
  constructor(build) {
    this.build = build;
  }

  /** Returns a phone number that no contact has. */
  nextNumber() {
    this.#numbers += 1;
    return `+1555020${String(this.#numbers).padStart(4, '0')}`;
  }

  /** @param {string} account */
  keyOf(account) {
    return account === 'default' ? {} : { 'X-API-Key': this.names.keys[account] ?? '' };
  }

  /**
   * @param {string} name
   * @param {Record<string, unknown>} fields
   * @param {string} [account]
   */
  async webhook(name, fields, account = 'default') {
    const { id } = await this.build.json('POST', '/v1/webhooks', fields, this.keyOf(account));
    this.names.webhooks[name] = id;
    return id;
  }

  /**
   * @param {string} name
   * @param {Record<string, unknown>} fields
   * @returns {Promise<string>} its id
   */
  async apiKey(name, fields) {
    const { id, key } = await this.build.json('POST', '/v1/api-keys', { name, ...fields });
    this.names.keys[name] = key;
    return id;
  }

  /**
   * A contact with old messages.
   * @param {string} account
   * @param {string} name
   * @param {number} count
   */
  async contact(account, name, count) {
    const wanted = { phoneNumber: this.nextNumber(), name };
    const { contacts } = await this.build.simulate(account, 'contacts', wanted);
    const [{ id }] = contacts;
    this.names.contacts[name] = id;
    const timestamp = Date.now() - 86_400_000;
    await this.build.simulate(account, 'messages', {
      ...{ contactId: id, count, text: `Old {n} of ${name}`, timestamp, intervalMs: 1_000 },
    });
  }

  /**
   * A message of a contact arrives and is emitted.
   * @param {string} account
   * @param {string} name
   * @param {string} text
   * @returns {Promise<string>} its id
   */
  async receive(account, name, text) {
    const contactId = this.names.contacts[name];
    const { ids } = await this.build.simulate(account, 'messages', { contactId, text });
    await this.emitted('message.received', ids[0], account);
    return ids[0];
  }

  /**
   * A text of its own name, if the fields have no other.
   * @param {string} name
   * @param {Record<string, unknown>} [fields]
   * @param {{ file?: string, fault?: object, times?: number | 'always', key?: string, account?: string }} [more]
   * `file`: content of an uploaded file; `fault`: how upstream answers; `key`: idempotency key
   * @returns {Promise<string>} its id
   */
  async send(name, fields = {}, { file, fault, times, key, account = 'default' } = {}) {
    const body = { phoneNumber: this.nextNumber(), message: name, ...fields };
    if (fault !== undefined) {
      const match = { method: 'POST', phoneNumber: body.phoneNumber };
      await this.build.simulate(account, 'faults', {
        match,
        fault,
        ...(times === undefined ? {} : { times }),
      });
    }
    const { id } = await this.build.json(
      'POST',
      '/v1/messages/send',
      file === undefined ? body : formOf(body, file),
      { ...this.keyOf(account), ...(key === undefined ? {} : { 'Idempotency-Key': key }) },
    );
    this.names.sends[name] = id;
    if (key !== undefined) this.names.idempotent[name] = { key, body };
    return id;
  }

  /**
   * Waits for a send to look so.
   * @param {string} id
   * @param {string} status
   * @param {number} [attempts] at least so many
   */
  async becomes(id, status, attempts = 0) {
    return await until(`the send ${id} is ${status}`, async () => {
      const send = await this.build.json('GET', `/v1/sends/${id}`);
      return send.status === status && send.attempts.length >= attempts && send;
    });
  }

  /**
   * Waits for an event about a message, contact or send.
   * @param {string} type
   * @param {string} id
   * @param {string} [account]
   */
  async emitted(type, id, account = 'default') {
    const path = `/v1/events?types=${type}&limit=1000`;
    await until(
      `${type} of ${id}`,
      async () => {
        const { events } = await this.build.json('GET', path, undefined, this.keyOf(account));
        return events.some((/** @type {{ data: Record<string, { id?: string }> }} */ { data }) =>
          [data['message'], data['contact'], data['send']].some((subject) => subject?.id === id),
        );
      },
      120_000,
    );
  }
}

/**
 * @param {Record<string, unknown>} fields
 * @param {string} file
 */
function formOf(fields, file) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value));
  form.set('file', new Blob([file], { type: 'text/plain' }), 'note.txt');
  return form;
}
