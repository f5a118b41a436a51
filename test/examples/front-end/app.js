// Shows conversations and keeps them current. The API guide explains the requests ("For front ends").
// Texts become text nodes only, so that markup in a message stays text.
const STREAM = '/v1/events/stream?types=message.*,contact.*,conversation.updated,send.updated';
const $ = (id) => document.getElementById(id);
const el = (tag, textContent, more) => Object.assign(document.createElement(tag), { textContent, ...more });
const timeOf = (at) => at && new Date(at).toLocaleString([], { dateStyle: 'short', timeStyle: 'short' });
const pathOf = ({ id }) => `/v1/conversations/${encodeURIComponent(id)}`;
const nameOf = ({ contact, phoneNumbers, id }) => String(contact?.name ?? phoneNumbers[0] ?? id);
const descending = (key) => (a, b) => (key(a) < key(b) ? 1 : -1);

let session, stream, timer, lastEventId; // The token; the open stream, the timer of the next, and its last cursor
let open, seen; // The row of the open conversation, and the last message that was marked as seen
let entries = []; // The messages and sends of the open conversation
const rows = new Map(); // The list of conversations, by id
const next = {}; // Cursors of the next page of the list and of the timeline
const known = new Set(); // Ids of the last events: while a token is renewed, two streams send the same events
const reads = new Set(); // For each read in progress, what the stream sent meanwhile

async function call(method, path, body, headers) {
  const reply = await fetch(session.api + path, {
    method,
    headers: { Authorization: `Bearer ${session.token}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  const json = reply.status === 204 ? undefined : await reply.json();
  if (!reply.ok) throw Object.assign(new Error(json.detail), json);
  return json;
}

/** Reads a page. What the stream sent meanwhile is applied once more, because the page may be older. */
async function read(path, cursor, apply) {
  const meanwhile = [];
  reads.add(meanwhile);
  try {
    const page = await call('GET', path + (cursor ? `&cursor=${cursor}` : ''));
    apply(page);
    meanwhile.forEach(handle);
    if (stream) $('status').textContent = page.partial ? 'Not all messages can be read at the moment.' : '';
  } catch ({ status, message }) {
    // A phone number has no conversation before the first send to it.
    if (status !== 404) $('status').textContent = message;
    // Without an answer, connect again and read everything anew.
    if (status === undefined || status === 401 || status >= 500) stream?.abort();
  }
  reads.delete(meanwhile);
  render();
}

async function readList(cursor) {
  const q = $('search').value.trim();
  await read(`/v1/conversations?limit=50${q && `&q=${encodeURIComponent(q)}`}`, cursor, (page) => {
    if (q !== $('search').value.trim()) return;
    if (!cursor) rows.clear();
    for (const row of page.conversations) putRow(row);
    next.list = page.next;
    const id = q.replaceAll(/[\s()-]/g, '');
    if (rows.size > 0 || !/^\+[1-9]\d{6,14}$/.test(id)) return;
    rows.set(id, { id, phoneNumbers: [id], preview: 'New conversation', revision: 0 });
  });
}

async function readTimeline({ cursor, anew }) {
  const { id } = open;
  await read(`${pathOf(open)}/timeline?limit=30`, cursor, (page) => {
    if (open?.id !== id) return;
    if (anew) entries = entries.filter(({ send }) => send && !send.id); // Not confirmed by the gateway
    if (anew || cursor) next.timeline = page.next;
    page.timeline.forEach(put);
    if (page.partial) setTimeout(() => open?.id === id && readTimeline({ anew: true }), 10_000);
  });
}

/** Opens a stream with a new token. The old stream goes on until then, so that a renewal leaves no gap. */
async function connect() {
  const mine = new AbortController();
  let isOpen = false;
  try {
    const created = await fetch('session', { method: 'POST', signal: AbortSignal.timeout(10_000) });
    if (!created.ok) throw new Error(await created.text());
    session = await created.json();
    // Both times are from servers, because the clock of this computer may be wrong.
    const lifetimeMs = Date.parse(session.expiresAt) - Date.parse(created.headers.get('Date'));
    const headers = { Authorization: `Bearer ${session.token}` };
    if (lastEventId) headers['Last-Event-ID'] = lastEventId;
    const reply = await fetch(session.api + STREAM, { headers, signal: mine.signal });
    if (reply.status === 410) lastEventId = undefined; // The events after it are no longer kept.
    if (!reply.ok) throw new Error(`The event stream returned ${reply.status}`);
    for await (const { event, data, id } of framesOf(reply.body, mine)) {
      // The first comment says that the stream reports every change from now on.
      if (!isOpen) {
        isOpen = true;
        const old = stream;
        stream = mine;
        connectIn((lifetimeMs * 2) / 3);
        // The last changes of rows may still be on their way in the old stream.
        if (old) setTimeout(() => old.abort(), 1000);
        // Rows and statuses of sends are not stored as events: those of the gap are read.
        else void Promise.all([readList(), open && readTimeline({ anew: true })]);
      }
      if (data) receive(event, JSON.parse(data));
      if (id) lastEventId = id;
    }
  } catch (error) {
    console.debug(error);
  }
  if (isOpen && stream !== mine) return; // A later stream took over.
  if (isOpen) stream = undefined;
  if (!stream) $('status').textContent = 'Connecting…';
  connectIn(1000 + 2000 * Math.random()); // Not all pages at the same moment
}

function connectIn(ms) {
  clearTimeout(timer);
  timer = setTimeout(connect, Math.max(ms || 0, 1000));
}

/** Server-sent events: lines `name: value`, and an empty line after each event. */
async function* framesOf(body, controller) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; ;) {
    // The gateway sends at least a comment every 15 seconds.
    const silence = setTimeout(() => controller.abort(), 40_000);
    const { done, value } = await reader.read();
    clearTimeout(silence);
    if (done) return;
    const frames = (text + value).split('\n\n');
    text = frames.pop();
    for (const frame of frames)
      yield Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/)));
  }
}

function receive(type, data) {
  if (data.sequence !== undefined && known.size === known.add(data.id).size) return;
  if (known.size > 1000) known.delete(known.values().next().value);
  for (const meanwhile of reads) meanwhile.push([type, data]);
  handle([type, data]);
  render();
}

function handle([type, event]) {
  if (type === 'conversation.updated') putRow(event, true);
  if (type === 'send.updated') put({ send: event });
  if (type === 'contact.deleted') rows.delete(event.contactId);
  if (!type.startsWith('message.')) return;
  const { message, sendId, reference } = event.data;
  if (type === 'message.deleted') {
    entries = entries.filter((entry) => entry.message?.id !== message.id);
    return;
  }
  // Only a new message becomes an entry. An earlier one that changed comes with its page of the timeline.
  const isNew = event.contactId === open?.contactId && /received|sent|created/.test(type);
  const times = [new Date(message.timestamp).getTime(), Date.parse(event.timestamp)].filter(Number.isFinite);
  const at = isNew ? new Date(Math.min(...times)).toISOString() : undefined;
  put({ at, message, send: sendId && { id: sendId, reference } });
}

/** Puts a row into the list, unless a later one is there. The row of a contact replaces that of its number. */
function putRow(row, isLive) {
  const isOpen = [row.id, row.replaces].includes(open?.id);
  const listed = rows.get(row.id) ?? rows.get(row.replaces);
  if ((listed ?? (isOpen ? open : row)).revision > row.revision) return;
  if (listed || !isLive || $('search').value === '') {
    rows.delete(row.replaces);
    rows.set(row.id, { ...row, li: listed?.li });
  }
  if (!isOpen) return;
  // The number got a contact, or somebody else sends: the timeline has what the stream does not say.
  const sends = entries.filter(({ message }) => !message).length;
  const isBehind = row.id !== open.id || row.pendingSends > Math.max(open.pendingSends ?? 0, sends);
  open = row;
  if (isBehind) void readTimeline({});
}

/** Adds an entry, or merges it with those of the same message or send. Without a time, it is only merged. */
function put({ at, message, send }) {
  const isSame = (entry) => {
    if (message && entry.message) return message.id === entry.message.id;
    const name = entry.send?.id ? 'id' : 'reference';
    return send && entry.send && send[name] === entry.send[name];
  };
  // A send that was sent twice has two messages, which stay apart.
  const same = entries.filter(isSame).slice(0, message ? undefined : 1);
  if (same.length === 0 && at === undefined) return;
  if (same.some((entry) => entry.send?.revision > send?.revision)) return;
  const add = (old, more) => (more ? { ...old, ...more } : old);
  const merged = [...same, { at, message, send }].reduce((a, b) => ({
    at: (a.message && a.at) ?? b.at ?? a.at,
    message: add(a.message, b.message),
    send: add(a.send, b.send),
    li: a.li,
  }));
  entries = [...entries.filter((entry) => !same.includes(entry)), merged];
}

function statusOf({ message, send }) {
  if (message?.direction === 'inbound') return '';
  const flag = ['read', 'delivered'].find((name) => message?.status?.[name] || send?.status === name);
  if (flag || message) return flag ?? 'sent';
  return ['queued', 'relaying', 'accepted'].includes(send.status) ? 'pending' : send.status;
}

/** Shows items as a list, and touches only what changed: the focus stays, and screen readers read what is new. */
function show(list, items, fill) {
  items.forEach((item, i) => {
    item.li ??= el('li');
    if (item.li.item !== item) fill(Object.assign(item.li, { item }), item);
    if (list.children[i] !== item.li) list.insertBefore(item.li, list.children[i]);
  });
  while (list.children.length > items.length) list.lastChild.remove();
}

function fillRow(li, row) {
  const { unreadCount: unread, pendingSends: pending, failedSends: failed, lastDirection } = row;
  const preview = row.preview ?? (lastDirection ? 'Attachment' : 'No messages');
  const marks = Object.entries({ unread, pending, failed }).filter(([, count]) => count > 0);
  const texts = marks.map(([name, count]) => `${count} ${name}`);
  if (row.waitingSince) texts.push(`waiting since ${timeOf(row.waitingSince)}`);
  const button = li.firstChild ?? li.appendChild(el('button'));
  button.onclick = () => openConversation(row);
  button.replaceChildren(
    el('small', timeOf(row.lastActivityAt)),
    el('strong', nameOf(row)),
    el('span', (lastDirection === 'outbound' ? 'You: ' : '') + preview),
    el('small', texts.join(' · ')),
  );
}

function fillEntry(li, entry) {
  const { at, message, send } = entry;
  const link = { textContent: 'Attachment', target: '_blank', rel: 'noreferrer noopener' };
  const files = [...(message?.attachments ?? []), send?.fileUrl].map((file) => file?.url ?? file);
  li.className = message?.direction ?? 'outbound';
  li.replaceChildren(
    el('span', message?.message ?? send?.message, { dir: 'auto' }),
    ...files.filter((url) => /^https?:/.test(url)).map((href) => el('a', '', { href, ...link })),
    el('small', [timeOf(at), statusOf(entry), send?.error].filter(Boolean).join(' · ')),
  );
  // The reference is also the idempotency key, so that the gateway sends the message only once.
  if (send?.error) li.append(el('button', 'Try again', { onclick: () => submit(send) }));
}

function render() {
  const newest = descending(({ lastActivityAt, id }) => `${lastActivityAt ?? ''} ${id}`);
  show($('rows'), [...rows.values()].sort(newest), fillRow);
  for (const [id, { li }] of rows) li.firstChild.ariaCurrent = String(id === open?.id);
  $('more').hidden = !next.list;
  $('earlier').hidden = !next.timeline;
  $('conversation').hidden = !open;
  if (!open) return;
  $('title').textContent = nameOf(open);
  entries.sort(descending(({ at, message }) => `${at ?? ''} ${message?.id ?? ''}`)).reverse();
  show($('timeline'), entries, fillEntry);
  const last = entries.findLast(({ message }) => message?.direction === 'inbound')?.message.id;
  if (document.visibilityState !== 'visible' || !(open.unreadCount > 0) || !last || last === seen) return;
  seen = last;
  call('POST', `${pathOf(open)}/seen`, { upTo: last }).catch(() => (seen = undefined));
}

function openConversation(row) {
  [open, entries, next.timeline] = [row, [], undefined];
  void readTimeline({ anew: true });
  $('text').focus();
}

/** Shows a send at once. What the gateway says about it later has the same reference. */
async function submit({ reference, phoneNumber, message }) {
  const at = new Date(Math.max(Date.now(), Date.parse(open.lastActivityAt ?? 0) + 1)).toISOString();
  put({ at, send: { reference, phoneNumber, message, status: 'queued', error: undefined } });
  render();
  try {
    const headers = { 'Idempotency-Key': reference };
    const { id } = await call('POST', '/v1/messages/send', { phoneNumber, message, reference }, headers);
    put({ send: { reference, id } });
  } catch (error) {
    put({ send: { reference, status: 'not sent', error: error.message } });
  }
  render();
}

$('composer').onsubmit = (event) => {
  event.preventDefault();
  const message = $('text').value;
  $('text').value = '';
  if (message) void submit({ reference: crypto.randomUUID(), phoneNumber: open.phoneNumbers[0], message });
};
$('text').onkeydown = (event) => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) $('composer').onsubmit(event);
};
$('search').oninput = () => void readList();
$('more').onclick = () => void readList(next.list);
$('earlier').onclick = () => void readTimeline({ cursor: next.timeline });
$('back').onclick = () => {
  const { id } = open;
  open = undefined;
  render();
  rows.get(id)?.li.firstChild.focus();
};
document.onvisibilitychange = render;
void connect();
