import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

const NUMBER = '+14155550123';

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

beforeEach(() => {
  gateway.sends.requests.length = 0;
});

function form(fields: Readonly<Record<string, string>>, file?: Blob, name = 'photo.jpg'): RequestInit {
  const body = new FormData();
  for (const [field, value] of Object.entries(fields)) body.append(field, value);
  if (file !== undefined) body.append('file', file, name);
  return { method: 'POST', body };
}

async function send(init: RequestInit, key?: string): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key !== undefined) headers.set('idempotency-key', key);
  return await gateway.fetch('/v1/messages/send', { ...init, headers });
}

async function faultyFields(init: RequestInit): Promise<string[]> {
  const problem = await problemOf(await send(init));
  expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
  return (problem.errors ?? []).map(({ field }) => field);
}

describe('A send request', () => {
  it('in JSON or as a form is answered with the status queued, an id and a Location header', async () => {
    for (const init of [
      json({ phoneNumber: NUMBER, message: 'hi' }),
      form({ phoneNumber: NUMBER, message: 'hi' }),
    ]) {
      const response = await send(init);
      const body = (await response.json()) as { id: string };
      expect(response.status).toBe(200);
      expect(body).toEqual({
        status: 'queued',
        message: expect.any(String),
        id: expect.stringMatching(/^snd_/),
      });
      expect(response.headers.get('location')).toBe(`/v1/sends/${body.id}`);
    }
    expect(gateway.sends.requests[0]).toMatchObject({
      account: 'default',
      request: { phoneNumber: NUMBER, type: 'text', message: 'hi' },
      idempotency: undefined,
    });
  });

  it('in JSON or as a form passes its request id on to the stored send', async () => {
    for (const init of [
      json({ phoneNumber: NUMBER, message: 'hi' }),
      form({ phoneNumber: NUMBER, message: 'hi' }),
    ]) {
      const headers = new Headers(init.headers);
      headers.set('x-request-id', 'order-66');
      expect((await send({ ...init, headers })).status).toBe(200);
    }
    expect(gateway.sends.requests.map(({ requestId }) => requestId)).toEqual(['order-66', 'order-66']);
  });

  it('results in the same stored send and the same idempotency hash, whether the request is JSON or a form', async () => {
    const fields = { phoneNumber: NUMBER, message: 'hi 👋', reference: 'r-1', type: 'audio' };
    const times = { sendAt: '2099-01-01T00:00:00Z', expiresAt: '2099-01-02T01:00:00+01:00' };
    const metadata = { b: [1, { d: 1, c: 2 }], a: 'x' };
    const reordered = { a: 'x', b: [1, { c: 2, d: 1 }] };
    await send(json({ ...fields, ...times, metadata }), 'same-1');
    await send(form({ metadata: JSON.stringify(reordered), ...times, ...fields }), 'same-2');
    const [first, second] = gateway.sends.requests;
    expect(first?.request).toEqual(second?.request);
    expect(first?.request).toMatchObject({ sendAt: Date.UTC(2099, 0, 1), expiresAt: Date.UTC(2099, 0, 2) });
    expect(first?.idempotency?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(first?.idempotency?.fingerprint).toBe(second?.idempotency?.fingerprint);
  });

  it('in JSON or as a form gets one error that names every invalid field', async () => {
    const faulty = {
      phoneNumber: '415 555',
      type: 'Text!',
      fileUrl: 'ftp://example.com/x',
      reference: 'x'.repeat(129),
      metadata: '[1]',
      sendAt: '2030-01-01',
      expiresAt: 'tomorrow',
      send_at: 'x',
      '1x': 'x',
    };
    const all = [...Object.keys(faulty)].sort();
    expect((await faultyFields(json(faulty))).sort()).toEqual(all);
    expect((await faultyFields(form(faulty))).sort()).toEqual(all);
  });

  it.each([
    ['JSON', json],
    ['a form', form],
  ] as const)(
    'may have a reference of 128 characters, even if each of them is an emoji (%s)',
    async (_, encode) => {
      const reference = '👋'.repeat(128);
      await send(encode({ phoneNumber: NUMBER, message: 'hi', reference }));
      expect(gateway.sends.requests.at(-1)?.request).toMatchObject({ reference });
      expect(
        await faultyFields(encode({ phoneNumber: NUMBER, message: 'hi', reference: `${reference}x` })),
      ).toEqual(['reference']);
    },
  );

  it('is rejected if it has neither message nor file nor fileUrl', async () => {
    expect(await faultyFields(json({ phoneNumber: NUMBER }))).toEqual(['message']);
    expect(await faultyFields(form({ phoneNumber: NUMBER }))).toEqual(['message']);
  });

  it.each([
    ['phoneNumber', { phoneNumber: '14155550123' }],
    ['phoneNumber', { phoneNumber: '+1 415 555 0123' }],
    ['phoneNumber', { phoneNumber: '+999999999999999' }],
    ['phoneNumber', { phoneNumber: 14155550123 }],
    ['message', { message: '' }],
    ['message', { message: ['hi'] }],
    ['message', { message: 'a\u0000b' }],
    ['message', { message: 'half \ud83d' }],
    ['message', { message: 'x'.repeat(65_537) }],
    ['metadata', { metadata: { a: 'x'.repeat(2048) } }],
    ['sendAt', { sendAt: '2030-02-30T00:00:00Z' }],
    ['sendAt', { sendAt: '9999-12-31T23:59:59-12:00' }],
    ['sendAt', { sendAt: '2030-01-01T00:00:00' }],
    ['expiresAt', { expiresAt: '2001-01-01T00:00:00Z' }],
    ['expiresAt', { sendAt: '2099-01-02T00:00:00Z', expiresAt: '2099-01-01T00:00:00Z' }],
  ])('is rejected with an invalid %s: %j', async (field, fields) => {
    expect(await faultyFields(json({ phoneNumber: NUMBER, message: 'hi', ...fields }))).toEqual([field]);
  });

  it('may contain fields with the value null, which count as omitted; metadata may have any field names', async () => {
    const metadata = { constructor: 'x', then: 1, toString: null, hasOwnProperty: {} };
    const response = await send(json({ phoneNumber: NUMBER, message: 'hi', fileUrl: null, metadata }));
    expect(response.status).toBe(200);
    expect(gateway.sends.requests[0]?.request).toEqual({
      phoneNumber: NUMBER,
      type: 'text',
      message: 'hi',
      metadata,
    });
  });
});

describe('An undocumented field', () => {
  const extra = (index = 0): unknown => gateway.sends.requests[index]?.request.extraFields;

  it('is stored as text, with the same value for JSON and form requests, and is returned when the send is read', async () => {
    const fields = { phoneNumber: NUMBER, message: 'hi' };
    const given = { priority: 'high', retries: '3', ratio: '0.5', urgent: 'true', 'x.y-z': '👋' };
    const response = await send(
      json({ ...fields, ...given, retries: 3, ratio: 0.5, urgent: true, absent: null }),
      'extra-1',
    );
    await send(form({ ...given, ...fields }), 'extra-2');
    expect(extra()).toEqual(given);
    expect(gateway.sends.requests[1]?.request).toEqual(gateway.sends.requests[0]?.request);
    expect(gateway.sends.requests[1]?.idempotency?.fingerprint).toBe(
      gateway.sends.requests[0]?.idempotency?.fingerprint,
    );
    const shown = await gateway.fetch(String(response.headers.get('location')));
    expect(await shown.json()).toMatchObject({ extraFields: given });
  });

  it('counts as a difference between two requests with the same idempotency key', async () => {
    await send(json({ phoneNumber: NUMBER, message: 'hi', priority: 'high' }), 'extra-3');
    for (const other of [{ priority: 'low' }, {}, { priority: 'high', more: '' }]) {
      const response = await send(json({ phoneNumber: NUMBER, message: 'hi', ...other }), 'extra-3');
      expect(await problemOf(response)).toMatchObject({ code: 'idempotency_key_reused' });
    }
  });

  it.each([
    ['sendat', 'sendAt'],
    ['send_at', 'sendAt'],
    ['Send-At', 'sendAt'],
    ['MESSAGE', 'message'],
    ['File', 'file'],
    ['file-url', 'fileUrl'],
  ])('is rejected if its name is %s, which resembles the field %s', async (field, meant) => {
    const problem = await problemOf(await send(json({ phoneNumber: NUMBER, message: 'hi', [field]: 'x' })));
    expect(problem.errors).toEqual([{ field, message: `is not a known field; use ${meant} instead` }]);
  });

  it.each([
    ['with an invalid name', { '1a': 'x' }],
    ['with a line break in its name', { 'a\r\nb': 'x' }],
    ['with a name that is too long', { ['a'.repeat(65)]: 'x' }],
    ['with a list as its value', { a: ['x'] }],
    ['with an object as its value', { a: {} }],
    ['with a NUL character', { a: 'x\0' }],
    ['with an unpaired surrogate', { a: '\ud83d' }],
    ['with a number that lost digits', { a: 12345678901234567890 }],
    ['above the total size limit', { a: 'x'.repeat(8_192) }],
    [
      'above the limit of twenty fields',
      Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`f${i}`, 'x'])),
    ],
    ['named file with a text value', { file: 'x' }],
  ])('%s is rejected', async (_, fields) => {
    const names = await faultyFields(json({ phoneNumber: NUMBER, message: 'hi', ...fields }));
    expect(names).toEqual([Object.keys(fields).at(-1)]);
    expect(gateway.sends.requests).toEqual([]);
  });

  it('is accepted while the total size of all undocumented fields is within the limit', async () => {
    const fields = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i}`, 'x'.repeat(400)]));
    expect((await send(form({ phoneNumber: NUMBER, message: 'hi', ...fields }))).status).toBe(200);
    expect(extra()).toEqual(fields);
  });
});

describe('An Idempotency-Key', () => {
  it('that is repeated returns the first response again, marked as replayed', async () => {
    const ask = (): Promise<Response> => send(json({ phoneNumber: NUMBER, message: 'once' }), 'key-1');
    const [first, second] = [await ask(), await ask()];
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(await second.json()).toEqual(await first.json());
  });

  it.each([
    ['168', 168],
    ['1', 24],
  ])(
    'is kept for EVENT_RETENTION_HOURS, but at least 24 hours (with the value %s: %d hours)',
    async (hours, expected) => {
      await using other = await startTestGateway({
        redisUrl: redis.url,
        environment: { EVENT_RETENTION_HOURS: hours },
      });
      const request = json({ phoneNumber: NUMBER, message: 'Hi' });
      const headers = new Headers(request.headers);
      headers.set('idempotency-key', 'key-0');
      await other.fetch('/v1/messages/send', { ...request, headers });
      expect(other.sends.requests[0]?.idempotency?.lifetimeMs).toBe(expected * 3_600_000);
    },
  );

  it('that is repeated with a different body causes 422 idempotency_key_reused', async () => {
    await send(json({ phoneNumber: NUMBER, message: 'one' }), 'key-2');
    const response = await send(json({ phoneNumber: NUMBER, message: 'two' }), 'key-2');
    expect(await problemOf(response)).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  });

  it('that is repeated returns the first response even if expiresAt has passed; a new send with a past expiresAt is rejected', async () => {
    const expiresAt = new Date(Date.now() + 700).toISOString();
    const ask = (message: string, key = 'key-3'): Promise<Response> =>
      send(json({ phoneNumber: NUMBER, message, expiresAt }), key);
    const first = await ask('in time');
    expect(first.status).toBe(200);
    await eventually('the time has passed', () => Date.now() > Date.parse(expiresAt));
    const second = await ask('in time');
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(await second.json()).toEqual(await first.json());
    expect((await ask('too late')).status).toBe(422);
    expect((await ask('in time', 'key-4')).status).toBe(400);
  });

  it('of an upload in progress causes 409 idempotency_in_progress; a rejected upload frees the key for another request', async () => {
    const upload = (): Promise<Response> =>
      send(form({ phoneNumber: NUMBER }, new Blob(['abc']), 'a.txt'), 'key-5');
    gateway.sends.reservations.set('default/key-5', 'another');
    const response = await upload();
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await problemOf(response)).toMatchObject({ status: 409, code: 'idempotency_in_progress' });
    gateway.sends.reservations.clear();
    expect((await send(form({ phoneNumber: 'x' }), 'key-5')).status).toBe(400);
    expect(gateway.sends.reservations.size).toBe(0);
    expect((await upload()).headers.get('idempotent-replayed')).toBeNull();
    expect((await upload()).headers.get('idempotent-replayed')).toBe('true');
  });

  it('of a failed upload is released, and a release that hangs does not delay the 503 response', async () => {
    const release = jest.spyOn(gateway.sends, 'release').mockReturnValue(new Promise(() => undefined));
    gateway.sends.fault = new Error('Command timed out');
    try {
      const response = await send(form({ phoneNumber: NUMBER }, new Blob(['abc']), 'a.txt'), 'key-6');
      expect(await problemOf(response)).toMatchObject({ status: 503, code: 'unavailable' });
      expect(release).toHaveBeenCalledTimes(1);
    } finally {
      gateway.sends.fault = undefined;
      release.mockRestore();
      gateway.sends.reservations.clear();
    }
  });

  it('must be 1 to 255 printable characters', async () => {
    for (const key of ['', 'x'.repeat(256), 'ü']) {
      const response = await send(json({ phoneNumber: NUMBER, message: 'hi' }), key);
      expect(await problemOf(response)).toMatchObject({
        status: 400,
        errors: [{ field: 'Idempotency-Key' }],
      });
    }
  });

  it('in two headers is rejected, even with equal values', async () => {
    const body = JSON.stringify({ phoneNumber: NUMBER, message: 'hi' });
    for (const keys of [
      ['twice-1', 'twice-2'],
      ['twice-1', 'twice-1'],
    ]) {
      // fetch would join both headers to one header.
      const call = request(`${gateway.url}/v1/messages/send`, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json', 'idempotency-key': keys },
      });
      call.end(body);
      const [reply] = (await once(call, 'response')) as [IncomingMessage];
      expect(JSON.parse(await text(reply))).toMatchObject({
        status: 400,
        code: 'validation_failed',
        errors: [{ field: 'Idempotency-Key', message: 'must occur only once in the request' }],
      });
    }
    expect(gateway.sends.requests).toEqual([]);
  });
});

describe('The file of a send', () => {
  const photo = new Blob(['not really a photo'], { type: 'image/jpeg' });

  it('is stored with the send, whether the file precedes or follows the form fields', async () => {
    const before = await gateway.blobs();
    const last = form({ phoneNumber: NUMBER }, photo);
    const first = new FormData();
    first.append('file', photo, 'photo.jpg');
    first.append('phoneNumber', NUMBER);
    for (const init of [last, { method: 'POST', body: first }]) expect((await send(init)).status).toBe(200);
    const [one, two] = gateway.sends.requests.map(({ request }) => request.file);
    expect(one).toMatchObject({ name: 'photo.jpg', contentType: 'image/jpeg', size: 18 });
    expect(two?.sha256).toBe(one?.sha256);
    expect((await gateway.blobs()).sort()).toEqual([...before, one?.blobId, two?.blobId].sort());
  });

  it('is compared by its content, not by its name, when an idempotency key is repeated', async () => {
    const ask = (content: string, name: string): Promise<Response> =>
      send(form({ phoneNumber: NUMBER }, new Blob([content]), name), 'file-key');
    const before = (await gateway.blobs()).length;
    expect((await ask('abc', 'a.txt')).headers.get('idempotent-replayed')).toBeNull();
    expect((await ask('abc', 'b.txt')).headers.get('idempotent-replayed')).toBe('true');
    expect((await ask('abd', 'a.txt')).status).toBe(422);
    expect((await gateway.blobs()).length).toBe(before + 1);
  });

  it('is deleted when the request is rejected', async () => {
    const before = await gateway.blobs();
    const twice = form({ phoneNumber: NUMBER }, photo);
    (twice.body as FormData).append('file', photo, 'again.jpg');
    const elsewhere = form({ phoneNumber: NUMBER, message: 'hi' });
    (elsewhere.body as FormData).append('photo', photo, 'photo.jpg');
    expect(await faultyFields(form({ phoneNumber: 'x' }, photo))).toEqual(['phoneNumber']);
    expect(await faultyFields(twice)).toEqual(['file']);
    expect(await faultyFields(elsewhere)).toEqual(['photo']);
    expect(await faultyFields(form({ phoneNumber: NUMBER }, new Blob([])))).toEqual(['file']);
    expect(await faultyFields(form({ phoneNumber: NUMBER, message: 'hi', file: 'text' }))).toEqual(['file']);
    expect(await gateway.blobs()).toEqual(before);
  });

  it('is kept if storing the send ends with an error, because the send may have been stored', async () => {
    const before = (await gateway.blobs()).length;
    gateway.sends.fault = new Error('Command timed out');
    const response = await send(form({ phoneNumber: NUMBER }, photo));
    gateway.sends.fault = undefined;
    expect(await problemOf(response)).toMatchObject({ status: 503, code: 'unavailable' });
    expect((await gateway.blobs()).length).toBe(before + 1);
  });
});

describe('A multipart form', () => {
  const type = { 'content-type': 'multipart/form-data; boundary=x' };
  const part = (name: string, value: string): string =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

  it.each([
    ['without a boundary', { 'content-type': 'multipart/form-data' }, 'x'],
    ['that ends in the middle of a field', type, part('message', 'hi')],
    [
      'that breaks off in a file',
      type,
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
    ],
    ['with a body that is not a form', type, 'nonsense'],
    ['without any part', type, '--x'],
    ['with a field named __proto__', type, `${part('__proto__', 'x')}--x--\r\n`],
  ])('%s causes 400 malformed_body', async (_, headers, body) => {
    const before = await gateway.blobs();
    const response = await send({ method: 'POST', headers, body });
    expect(await problemOf(response)).toMatchObject({ status: 400, code: 'malformed_body' });
    expect(await gateway.blobs()).toEqual(before);
  });

  it.each([
    ['in Latin-1 without a charset', '', 'latin1', 'Größe'],
    ['in Latin-1 that claims to be UTF-8', 'text/plain; charset=utf-8', 'latin1', 'Größe'],
    ['in windows-1251', 'text/plain; charset=windows-1251', 'latin1', '\u00cf\u00f0\u00e8\u00e2\u00e5\u00f2'],
    ['in UTF-16', 'text/plain; charset=utf-16le', 'utf16le', 'Größe'],
  ] as const)(
    'with text %s causes 400 malformed_body and stores nothing; no byte is replaced with U+FFFD',
    async (_, contentType, encoding, message) => {
      const before = await gateway.blobs();
      const file = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n';
      const typed = contentType === '' ? '' : `Content-Type: ${contentType}\r\n`;
      const head = `--x\r\nContent-Disposition: form-data; name="message"\r\n${typed}\r\n`;
      const body = Buffer.concat([
        Buffer.from(`${part('phoneNumber', NUMBER)}${file}${head}`),
        Buffer.from(message, encoding),
        Buffer.from('\r\n--x--\r\n'),
      ]);
      const problem = await problemOf(await send({ method: 'POST', headers: type, body }));
      expect(problem).toMatchObject({ status: 400, code: 'malformed_body' });
      expect(problem.detail).toContain('UTF-8');
      expect(gateway.sends.requests).toEqual([]);
      expect(await gateway.blobs()).toEqual(before);
    },
  );

  it.each([
    ['without a content type', ''],
    ['with charset UTF-8', 'Content-Type: text/plain; charset=UTF-8\r\n'],
    ['with charset US-ASCII', 'Content-Type: text/plain; charset=US-ASCII\r\n'],
  ])('with UTF-8 text %s passes the text on unchanged, even U+FEFF and U+FFFD', async (_, typed) => {
    const message = '\ufeffGröße \ufffd 👋';
    const head = `--x\r\nContent-Disposition: form-data; name="message"\r\n${typed}\r\n`;
    const body = `${part('phoneNumber', NUMBER)}${head}${message}\r\n--x--\r\n`;
    expect((await send({ method: 'POST', headers: type, body })).status).toBe(200);
    expect(gateway.sends.requests[0]?.request.message).toBe(message);
  });

  it('may have parts of type application/json, whose values are parsed', async () => {
    const typed = (name: string, value: string): string =>
      `--x\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json\r\n\r\n${value}\r\n`;
    const ask = async (metadata: string): Promise<Response> => {
      const body = `${part('phoneNumber', NUMBER)}${typed('message', '"hi"')}${typed('metadata', metadata)}--x--\r\n`;
      return await send({ method: 'POST', headers: type, body });
    };
    expect((await ask('{"a":1}')).status).toBe(200);
    expect(gateway.sends.requests[0]?.request).toMatchObject({ message: 'hi', metadata: { a: 1 } });
    expect(await problemOf(await ask('{'))).toMatchObject({ status: 400, code: 'malformed_body' });
  });

  it('whose text parts are larger than the maximum size of an upload is accepted', async () => {
    const small = await startTestGateway({ redisUrl: redis.url, environment: { UPLOAD_MAX_BYTES: '1024' } });
    try {
      const message = 'x'.repeat(5_000);
      const response = await small.fetch('/v1/messages/send', form({ phoneNumber: NUMBER, message }));
      expect(response.status).toBe(200);
      expect(small.sends.requests[0]?.request.message).toBe(message);
    } finally {
      await small.dispose();
    }
  });

  it('with 10,000 parts, or with a part that is too large, causes 413', async () => {
    const many = `${part('a', 'b').repeat(10_000)}--x--\r\n`;
    expect(await problemOf(await send({ method: 'POST', headers: type, body: many }))).toMatchObject({
      status: 413,
      code: 'payload_too_large',
    });
    const large = form({ phoneNumber: NUMBER, message: 'x'.repeat(300_000) });
    expect(await problemOf(await send(large))).toMatchObject({ status: 413 });
  });

  it('with a repeated field gets an error that names the field', async () => {
    const body = `${part('message', 'a')}${part('message', 'b')}${part('phoneNumber', NUMBER)}--x--\r\n`;
    expect(await faultyFields({ method: 'POST', headers: type, body })).toEqual(['message']);
  });

  it('with parts that have no name or no headers is rejected without a crash', async () => {
    for (const disposition of ['form-data', 'form-data; filename="a"', 'attachment; name="a"']) {
      const body = `--x\r\nContent-Disposition: ${disposition}\r\n\r\nhi\r\n--x\r\n\r\nbare\r\n--x--\r\n`;
      expect((await send({ method: 'POST', headers: type, body })).status).toBe(400);
    }
  });

  it.each([20_000, 66_000, 100_000, 500_000])(
    'that contains a part of %d bytes with an invalid header is processed as if the part were absent',
    async (size) => {
      const skipped = `--x\r\nContent-Disposition: form-data; name="\n"\r\n\r\n${'x'.repeat(size)}\r\n`;
      const body = `${skipped}${part('message', 'hi')}--x--\r\n`;
      expect(await faultyFields({ method: 'POST', headers: type, body })).toEqual(['phoneNumber']);
    },
  );

  it('of a browser in which no file was chosen creates a send without a file', async () => {
    const empty =
      '--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n';
    const body = `${part('message', 'a')}${empty}${part('phoneNumber', NUMBER)}--x--\r\n`;
    expect((await send({ method: 'POST', headers: type, body })).status).toBe(200);
    expect(gateway.sends.requests[0]?.request.file).toBeUndefined();
  });
});
