// Shows conversations and keeps them current. The API guide explains the requests ("For front ends").
// Texts become text nodes only, so that markup in a message stays text.
const PENDING = { queued: 'pending', relaying: 'pending', accepted: 'pending' };
const STREAM = '/v1/events/stream?types=message.*,contact.*,send.*,conversation.updated,send.updated';
const $ = (id) => document.getElementById(id);
const el = (tag, textContent, more) => Object.assign(document.createElement(tag), { textContent, ...more });
const timeOf = (at) => at && new Date(at).toLocaleString([], { dateStyle: 'short', timeStyle: 'short' });
const pathOf = ({ id }) => `/v1/conversations/${encodeURIComponent(id)}`;
const nameOf = ({ contact, phoneNumbers, id }) => String(contact?.name ?? phoneNumbers[0] ?? id);
const sorted = (map, key) => [...map.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));

let session, stream, lastEventId; // The token, the open stream, and the cursor of its last event
let open, earlier, seen; // The open conversation, the cursor of its earlier entries, the last message seen
const rows = new Map(); // The list of conversations, by id
const entries = new Map(); // Of the open conversation: messages by id, and sends that have no message
const reads = new Set(); // For each read in progress, what the stream sent meanwhile

async function call(path, body, more) {
  const method = body ? 'POST' : 'GET';
  const headers = { Authorization: `Bearer ${session.token}`, 'Content-Type': 'application/json', ...more };
  const signal = AbortSignal.timeout(20_000);
  const reply = await fetch(session.api + path, { method, headers, body: JSON.stringify(body), signal });
  const json = reply.status === 204 ? undefined : await reply.json();
  if (!reply.ok) throw Object.assign(new Error(json.detail), json);
  return json;
}

/** Reads a page. What the stream sent meanwhile is applied once more, because the page may be older. */
async function read(path, apply) {
  const meanwhile = [];
  reads.add(meanwhile);
  try {
    const page = await call(path);
    apply(page);
    meanwhile.forEach(handle);
    if (stream) $('status').textContent = page.partial ? 'Not all messages can be read at the moment.' : '';
  } catch ({ status, message }) {
    if (status !== 404) $('status').textContent = message; // 404: nothing was sent to this number yet.
    // Without an answer, connect again and read everything again.
    if (status === undefined || status === 401 || status >= 500) stream?.abort();
  }
  reads.delete(meanwhile);
  render();
}

async function readList() {
  const q = $('search').value.trim();
  await read(`/v1/conversations?limit=100${q && `&q=${encodeURIComponent(q)}`}`, (page) => {
    if (q !== $('search').value.trim()) return;
    const old = new Map(rows);
    rows.clear();
    for (const row of page.conversations) putRow({ ...row, li: old.get(row.id)?.li });
    const id = q.replaceAll(/[\s()-]/g, '');
    if (rows.size === 0 && /^\+[1-9]\d{6,14}$/.test(id))
      putRow({ id, phoneNumbers: [id], preview: 'New conversation', revision: 0 });
  });
}

async function readTimeline(cursor) {
  const { id } = open;
  await read(`${pathOf(open)}/timeline?limit=30${cursor ? `&cursor=${cursor}` : ''}`, (page) => {
    if (open?.id !== id) return;
    if (cursor || earlier === undefined) earlier = page.next;
    page.timeline.forEach(put);
  });
}

/** Opens a stream with a new token. The old stream goes on until then, so that a renewal leaves no gap. */
async function connect() {
  const mine = new AbortController();
  try {
    session = await (await fetch('session', { method: 'POST', signal: AbortSignal.timeout(10_000) })).json();
    const headers = { Authorization: `Bearer ${session.token}`, 'Last-Event-ID': lastEventId ?? '' };
    const reply = await fetch(session.api + STREAM, { headers, signal: mine.signal });
    if (reply.status === 410) return location.reload(); // The events after the last one are no longer kept.
    if (!reply.ok) throw new Error(`The event stream returned ${reply.status}`);
    const frames = framesOf(reply.body);
    await frames.next(); // The first comment says that the stream reports every change from now on.
    stream?.abort();
    stream = mine;
    setTimeout(() => stream === mine && connect(), (session.seconds * 2000) / 3);
    // Rows and statuses of sends are not stored as events: those of a gap are read.
    void Promise.all([readList(), open && readTimeline()]);
    for await (const frame of frames) {
      lastEventId = frame.id ?? lastEventId;
      for (const meanwhile of reads) meanwhile.push(frame);
      handle(frame);
      render();
    }
  } catch (error) {
    console.debug(error);
  }
  if (mine.signal.aborted && stream !== mine) return; // A later stream took over.
  mine.abort(); // After an error of this page, the connection would stay open.
  if (stream === mine) stream = undefined;
  if (!stream) $('status').textContent = 'Connecting…';
  setTimeout(connect, 1000 + 2000 * Math.random()); // Not all pages at the same moment
}

/** Server-sent events: lines `name: value`, and an empty line after each event. */
async function* framesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (text + value).split('\n\n');
    text = frames.pop();
    yield* frames.map((frame) => Object.fromEntries(frame.split('\n').map(fieldOf)));
  }
}

function fieldOf(line) {
  const end = line.indexOf(': ');
  return [line.slice(0, end), line.slice(end + 2)];
}

/** Applies an event. To apply it twice does no harm: while a token is renewed, two streams report it. */
function handle({ event: type, data = '{}' }) {
  const event = JSON.parse(data);
  if (type === 'conversation.updated') putRow(event, true);
  if (type === 'send.updated') put({ send: event });
  if (event.data?.send) {
    const { id, reference, reason } = event.data.send; // The status comes with `send.updated`, in order.
    put({ send: { id, reference, reason } });
  }
  if (type === 'contact.deleted') rows.delete(event.contactId);
  if (!type?.startsWith('message.')) return;
  const { message, sendId, reference } = event.data;
  // Only a new message becomes an entry. An earlier one that changed comes with its page of the timeline.
  const isNew = event.contactId === open?.contactId && /received|sent|created/.test(type);
  const at = isNew ? (message.timestamp ?? event.timestamp) : undefined;
  if (type === 'message.deleted') entries.delete(message.id);
  else put({ at, message, send: sendId && { id: sendId, reference } });
}

/** Lists a row, unless a later one is there. The row of a contact replaces that of its number. */
function putRow(row, isLive) {
  const old = rows.get(row.id) ?? rows.get(row.replaces);
  if (old?.revision > row.revision) return;
  rows.delete(row.replaces);
  // A number without any activity has no conversation any more.
  if (row.lastActivityAt === null && row.contactId === null) rows.delete(row.id);
  else if (old || !isLive || $('search').value === '') rows.set(row.id, fillRow(row, row.li ?? old?.li));
  const openId = open?.id;
  if (open && [row.id, row.replaces].includes(openId)) open = row;
  if (open?.id !== openId) void readTimeline(); // The number got a contact.
}

/** Adds an entry, or changes it. Without a time, it is only changed. A message replaces its send. */
function put({ at, message, send }) {
  // A send of this page is known by its reference before it has an id.
  const sendKey = entries.has(send?.reference) ? send.reference : (send?.id ?? send?.reference);
  const old = entries.get(message?.id) ?? entries.get(sendKey);
  if ((!old && at === undefined) || (!message && old?.send.revision > send.revision)) return;
  if (message) entries.delete(sendKey);
  entries.set(message?.id ?? sendKey, fillEntry(at ?? old.at, message, { ...old?.send, ...send }, old?.li));
}

/** Moves only the elements that must move: the focus stays, and screen readers read what is new. */
function show(list, items) {
  items.forEach(({ li }, i) => {
    if (list.children[i] !== li) list.insertBefore(li, list.children[i]);
  });
  while (list.children.length > items.length) list.lastChild.remove();
}

function fillRow(row, li = el('li')) {
  const counts = { unread: row.unreadCount, pending: row.pendingSends, failed: row.failedSends };
  const marks = Object.entries(counts).map(([name, count]) => count > 0 && `${count} ${name}`);
  if (row.waitingSince) marks.push(`waiting since ${timeOf(row.waitingSince)}`);
  const button = li.firstChild ?? li.appendChild(el('button'));
  button.onclick = () => {
    [open, earlier] = [row, undefined];
    entries.clear();
    void readTimeline();
    render();
    $('text').focus();
  };
  button.replaceChildren(
    el('strong', nameOf(row)),
    el('span', (row.lastDirection === 'outbound' ? 'You: ' : '') + (row.preview ?? '')),
    el('small', [timeOf(row.lastActivityAt), ...marks].filter(Boolean).join(' · ')),
  );
  return { ...row, li };
}

function fillEntry(at, message, send, li = el('li')) {
  const link = { textContent: 'Attachment', target: '_blank', rel: 'noreferrer noopener' };
  const files = [...(message?.attachments ?? []), send.fileUrl].map((file) => file?.url ?? file);
  const flag = message && (['read', 'delivered'].find((name) => message.status?.[name]) ?? 'sent');
  const status = flag ?? PENDING[send.status] ?? send.status;
  const reason = status === send.status && send.reason; // After a resend, the old reason is no longer true.
  li.className = message?.direction ?? 'outbound';
  li.replaceChildren(
    el('span', message?.message ?? send.message, { dir: 'auto' }),
    ...files.filter((url) => /^https?:/.test(url)).map((href) => el('a', '', { href, ...link })),
    el('small', [timeOf(at), li.className === 'outbound' && status, reason].filter(Boolean).join(' · ')),
  );
  return { at, message, send, li };
}

function render() {
  show($('rows'), sorted(rows, (row) => `${row.lastActivityAt ?? ''} ${row.id}`).reverse());
  for (const [id, { li }] of rows) li.firstChild.ariaCurrent = String(id === open?.id);
  $('earlier').hidden = !earlier;
  $('conversation').hidden = !open;
  if (!open) return;
  $('title').textContent = nameOf(open);
  const shown = sorted(entries, ({ at, message }) => `${at ?? ''} ${message?.id}`);
  show($('timeline'), shown);
  const last = shown.findLast(({ message }) => message?.direction === 'inbound')?.message.id;
  if (document.visibilityState !== 'visible' || !(open.unreadCount > 0) || !last || last === seen) return;
  seen = last;
  call(`${pathOf(open)}/seen`, { upTo: last }).catch(() => (seen = undefined));
}

/** A random id. `crypto.randomUUID` exists only on pages with HTTPS and on those of the same machine. */
function newReference() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Shows a send at once. What the stream says about it later has the same reference. */
$('composer').onsubmit = (event) => {
  event.preventDefault();
  const reference = newReference();
  const send = { reference, phoneNumber: open.phoneNumbers[0], message: $('text').value };
  event.target.reset();
  put({ at: new Date().toISOString(), send: { ...send, status: 'queued' } });
  render();
  call('/v1/messages/send', send, { 'Idempotency-Key': reference }).catch(({ status, message }) => {
    // Without an answer, the send may be stored. Then the stream or the next connection shows it.
    put({ send: { reference, status: `${status < 500 ? '' : 'perhaps '}not sent: ${message}` } });
    render();
  });
};
$('search').oninput = readList;
$('earlier').onclick = () => readTimeline(earlier);
document.onvisibilitychange = render;
void connect();
