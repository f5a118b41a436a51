// Shows conversations and keeps them current. The API guide explains the requests ("For front ends").
// Texts become text nodes only, so that markup in a message stays text.
const STREAM = '/v1/events/stream?types=message.*,contact.*,conversation.updated,send.updated';
const $ = (id) => document.getElementById(id);
const el = (tag, textContent, more) => Object.assign(document.createElement(tag), { textContent, ...more });
const timeOf = (at) => at && new Date(at).toLocaleString([], { dateStyle: 'short', timeStyle: 'short' });
const pathOf = ({ id }) => `/v1/conversations/${encodeURIComponent(id)}`;
const nameOf = ({ contact, phoneNumbers, id }) => String(contact?.name ?? phoneNumbers[0] ?? id);
const descending = (key) => (a, b) => (key(a) < key(b) ? 1 : -1);

let session; // Address of the gateway, and the token
const rows = new Map(); // The list, by id
let open; // Row of the open conversation
let entries = []; // Its messages and sends
const next = {}; // Cursors of the next page of the list and of the timeline
const reads = new Set(); // For each read in progress, what the stream sent meanwhile

async function renewSession() {
  const reply = await fetch('session', { method: 'POST', signal: AbortSignal.timeout(10_000) });
  if (!reply.ok) throw new Error(await reply.text());
  session = await reply.json();
  // Both times are from servers, because the clock of this computer may be wrong.
  return Date.parse(session.expiresAt) - Date.parse(reply.headers.get('Date'));
}

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
    $('status').textContent = page.partial ? 'Not all messages can be read at the moment.' : '';
  } catch (error) {
    // A phone number has no conversation before the first send to it.
    if (error.status !== 404) $('status').textContent = error.message;
  }
  reads.delete(meanwhile);
  render();
}

async function readList(cursor) {
  const q = $('search').value.trim();
  await read(`/v1/conversations?limit=50${q && `&q=${encodeURIComponent(q)}`}`, cursor, (page) => {
    if (q !== $('search').value.trim()) return;
    if (!cursor) rows.clear();
    page.conversations.forEach((row) => putRow(row));
    next.list = page.next;
    const number = q.replaceAll(/[\s()-]/g, '');
    if (rows.size > 0 || !/^\+[1-9]\d{6,14}$/.test(number)) return;
    rows.set(number, { id: number, phoneNumbers: [number], preview: 'New conversation', revision: 0 });
  });
}

async function readTimeline(row, { cursor, anew }) {
  await read(`${pathOf(row)}/timeline?limit=30`, cursor, (page) => {
    if (open?.id !== row.id) return;
    if (anew) entries = entries.filter(({ send }) => send && !send.id); // Not confirmed by the gateway
    if (anew || cursor) next.timeline = page.next;
    page.timeline.forEach(put);
  });
}

let stream, timer, lastEventId; // The open stream, the timer of the next one, and the last cursor
const known = new Set(); // Ids of the last events

/** Opens a stream with a new token. The old stream goes on until then, so that a renewal leaves no gap. */
async function connect() {
  const mine = new AbortController();
  let silence;
  const heard = () => {
    clearTimeout(silence); // The gateway sends a comment every 15 seconds. Without it, the connection is lost.
    silence = setTimeout(() => mine.abort(), 40_000);
  };
  try {
    heard();
    const lifetimeMs = await renewSession();
    const headers = { Authorization: `Bearer ${session.token}` };
    if (lastEventId) headers['Last-Event-ID'] = lastEventId;
    const reply = await fetch(session.api + STREAM, { headers, signal: mine.signal });
    if (reply.status === 410) lastEventId = undefined; // Later events are no longer kept: start from now.
    if (!reply.ok) throw new Error(`The event stream returned ${reply.status}`);
    await readFrames(reply.body.pipeThrough(new TextDecoderStream()).getReader(), () => {
      heard();
      if (stream === mine) return;
      // From the first comment on, the stream misses nothing. Rows and statuses of sends are not resumed but read.
      if (stream) stream.abort('renewed');
      else void Promise.all([readList(), open && readTimeline(open, { anew: true })]);
      stream = mine;
      connectIn((lifetimeMs * 2) / 3);
    });
  } catch (error) {
    console.warn(error);
  }
  clearTimeout(silence);
  if (mine.signal.reason === 'renewed') return;
  if (stream === mine) stream = undefined;
  if (!stream) $('status').textContent = 'Connecting…';
  connectIn(1000 + 2000 * Math.random()); // Not all pages at the same moment
}

function connectIn(ms) {
  clearTimeout(timer);
  timer = setTimeout(connect, ms);
}

/** Server-sent events are lines `name: value`, and an empty line after each event. */
async function readFrames(reader, heard) {
  for (let text = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const frames = (text + value).split('\n\n');
    text = frames.pop();
    for (const frame of frames) {
      const { event, data, id } = Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/)));
      if (data) receive(event, JSON.parse(data));
      if (id) lastEventId = id;
    }
  }
}

function receive(type, data) {
  // While a token is renewed, two streams send the same events. Rows and sends have a revision instead.
  if (data.sequence !== undefined && known.size === known.add(data.id).size) return;
  if (known.size > 1000) known.delete(known.values().next().value);
  for (const meanwhile of reads) meanwhile.push([type, data]);
  handle([type, data]);
  render();
}

function handle([type, event]) {
  if (type === 'conversation.updated') return putRow(event, true);
  if (type === 'send.updated') return put({ send: event });
  if (type === 'contact.deleted') return rows.delete(event.contactId);
  if (!type.startsWith('message.')) return;
  const { message, sendId, reference } = event.data;
  if (type === 'message.deleted')
    return (entries = entries.filter((entry) => entry.message?.id !== message.id));
  // Only new messages become entries. An update of an earlier message waits until its page is loaded.
  const isNew = event.contactId === open?.contactId && /received|sent|created/.test(type);
  const times = [new Date(message.timestamp).getTime(), Date.parse(event.timestamp)].filter(Number.isFinite);
  const at = isNew && new Date(Math.min(...times)).toISOString();
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
  const before = open;
  open = row;
  // The number got a contact, or somebody else sends: the timeline has what the stream does not say.
  const more = row.pendingSends - Math.max(before.pendingSends ?? 0, entries.filter(isPending).length);
  if (row.id !== before.id || more > 0) void readTimeline(open, {});
}

/** Adds an entry, or merges it with those of the same message or send. Without a time, it is only merged. */
function put({ at, message, send }) {
  const isSame = (entry) => {
    if (message && entry.message) return message.id === entry.message.id;
    const name = entry.send?.id ? 'id' : 'reference';
    return send && entry.send && send[name] === entry.send[name];
  };
  const same = entries.filter(isSame);
  const old = Object.assign({}, ...same);
  if ((same.length === 0 && !at) || old.send?.revision > send?.revision) return;
  entries = entries.filter((entry) => !same.includes(entry));
  const time = old.message ? old.at : at || old.at;
  const merged = send ? { ...old.send, ...send } : old.send;
  entries.push({ ...old, at: time, message: message ?? old.message, send: merged });
}

function statusOf({ message, send }) {
  if (message?.direction === 'inbound') return '';
  const flag = ['read', 'delivered'].find((name) => message?.status?.[name] || send?.status === name);
  if (flag || message) return flag ?? 'sent';
  return ['queued', 'relaying', 'accepted'].includes(send.status) ? 'pending' : send.status;
}

const isPending = (entry) => ['pending', 'scheduled'].includes(statusOf(entry));

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
  const { unreadCount, waitingSince, pendingSends, failedSends, lastDirection, preview } = row;
  const marks = [
    unreadCount > 0 && `${unreadCount} unread`,
    waitingSince && `waiting since ${timeOf(waitingSince)}`,
    pendingSends > 0 && `${pendingSends} pending`,
    failedSends > 0 && `${failedSends} failed`,
  ];
  const button = li.firstChild ?? li.appendChild(el('button'));
  button.onclick = () => openConversation(row);
  button.replaceChildren(
    el('strong', nameOf(row)),
    el('small', timeOf(row.lastActivityAt)),
    el('span', (lastDirection === 'outbound' ? 'You: ' : '') + (preview ?? 'Attachment')),
    el('small', marks.filter(Boolean).join(' · '), { className: 'marks' }),
  );
}

function fillEntry(li, entry) {
  const { at, message, send } = entry;
  const link = { target: '_blank', rel: 'noreferrer noopener' };
  const files = [...(message?.attachments ?? []), send?.fileUrl].map((file) => file?.url ?? file);
  li.className = message?.direction === 'inbound' ? 'inbound' : 'outbound';
  li.replaceChildren(
    el('span', message?.message ?? send?.message, { dir: 'auto' }),
    ...files.filter((url) => /^https?:/.test(url)).map((href) => el('a', 'Attachment', { href, ...link })),
    el('small', [timeOf(at), statusOf(entry), send?.error].filter(Boolean).join(' · ')),
  );
  // The reference is also the idempotency key: the gateway sends the message once.
  if (send?.error) li.append(el('button', 'Try again', { onclick: () => submit(send) }));
}

function render() {
  const order = descending(({ lastActivityAt, id }) => `${lastActivityAt ?? ''} ${id}`);
  show($('rows'), [...rows.values()].sort(order), fillRow);
  for (const [id, { li }] of rows) li.firstChild.ariaCurrent = String(id === open?.id);
  $('more').hidden = !next.list;
  $('conversation').hidden = !open;
  if (!open) return;
  $('title').textContent = nameOf(open);
  $('earlier').hidden = !next.timeline;
  const log = $('log');
  const first = $('timeline').firstChild;
  const below = log.scrollHeight - log.scrollTop;
  const isAtEnd = below - log.clientHeight < 50;
  show(
    $('timeline'),
    entries.sort(descending(({ at, message }) => `${at} ${message?.id}`)).reverse(),
    fillEntry,
  );
  // The end stays in view. So does what is read while earlier entries come above it.
  if (isAtEnd) log.scrollTop = log.scrollHeight;
  else if (first !== $('timeline').firstChild) log.scrollTop = log.scrollHeight - below;
  void markSeen();
}

async function markSeen() {
  const last = entries.findLast(({ message }) => message?.direction === 'inbound')?.message;
  if (document.visibilityState !== 'visible' || !last || !(open.unreadCount > 0) || last.id === seen) return;
  seen = last.id;
  await call('POST', `${pathOf(open)}/seen`, { upTo: last.id }).catch(() => (seen = undefined));
}
let seen; // The last message that was marked as seen

function openConversation(row) {
  [open, entries, next.timeline] = [row, [], undefined];
  void readTimeline(row, { anew: true });
  $('text').focus();
}

/** Shows a send before the gateway knows it. Events name its reference, so that they find its bubble. */
async function submit({ reference, phoneNumber, message }) {
  const at = new Date(Math.max(Date.now(), Date.parse(open.lastActivityAt ?? 0) + 1)).toISOString();
  put({ at, send: { reference, phoneNumber, message, status: 'queued', error: undefined } });
  render();
  try {
    const body = { phoneNumber, message, reference };
    const { id } = await call('POST', '/v1/messages/send', body, { 'Idempotency-Key': reference });
    put({ send: { id, reference } });
  } catch (error) {
    put({ send: { reference, status: 'not sent', error: error.message } });
  }
  render();
}

$('composer').onsubmit = (event) => {
  event.preventDefault();
  void submit({
    reference: crypto.randomUUID(),
    phoneNumber: open.phoneNumbers[0],
    message: $('text').value,
  });
  $('text').value = '';
};
$('text').onkeydown = (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $('composer').requestSubmit();
};
$('search').oninput = () => void readList();
$('more').onclick = () => void readList(next.list);
$('earlier').onclick = () => void readTimeline(open, { cursor: next.timeline });
$('back').onclick = () => [(open = undefined), render()];
document.onvisibilitychange = render;
void connect();
