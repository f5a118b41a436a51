// Script of the phone page: shows and sends messages as a contact of the account. All texts are inserted as
// text, never as HTML.

const REQUEST_DEADLINE_MS = 10_000;
/** Pause before a failed refresh is repeated, in milliseconds. */
const RETRY_MS = 1_000;

const $ = (id) => document.getElementById(id);
const app = $('app');
const conversation = $('conversation');
const composer = $('composer');

/** Id of the contact whose phone is shown, or null. */
let chosen = decodeURIComponent(location.hash.slice(1)) || null;
/** Text that is being written, per contact id. */
const drafts = new Map();
/** Ids of the messages on the screen, to recognise new messages. */
let shown = new Set();
let shownFor = null;
/** Timestamp of the newest message already seen, per contact id. */
const seen = new Map();

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

async function call(path, body) {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const reply = await fetch(`/_simulator/${path}`, {
    ...init,
    signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
  });
  const content = await reply.json();
  if (!reply.ok)
    throw Object.assign(new Error(content.message ?? `Status ${reply.status}`), { status: reply.status });
  return content;
}

// Contacts

function initials(name) {
  const letters = name.match(/\p{L}+/gu);
  if (!letters) return '#';
  return letters
    .slice(0, 2)
    .map((word) => [...word][0].toUpperCase())
    .join('');
}

function tint(text) {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + character.codePointAt(0)) % 6;
  return String(sum);
}

function dress(avatar, contact) {
  avatar.textContent = initials(contact.name);
  avatar.dataset.tint = tint(contact.phoneNumber);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'long', month: 'long', day: 'numeric' });
const shortDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

function when(time) {
  if (!time) return '';
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : shortDay.format(date);
}

/** Rows of the list, per contact id. Rows are updated in place, because a click on a replaced row could get lost. */
const contactRows = new Map();

function newRow(id) {
  const item = element('li');
  const button = element('button', 'contact');
  button.type = 'button';
  button.dataset.testid = 'contact';
  button.dataset.contactId = id;
  const avatar = element('span', 'avatar');
  avatar.setAttribute('aria-hidden', 'true');
  const name = element('span', 'contact-name');
  const last = element('span', 'contact-last');
  const text = element('span', 'contact-text');
  text.append(name, last);
  const time = element('span');
  const dot = element('span', 'contact-new');
  dot.setAttribute('role', 'img');
  dot.setAttribute('aria-label', 'New message');
  const side = element('span', 'contact-side');
  side.append(time, dot);
  button.append(avatar, text, side);
  button.addEventListener('click', () => choose(id));
  item.append(button);
  return { item, button, avatar, name, last, time, dot };
}

function showRow(contact) {
  const row = contactRows.get(contact.id) ?? newRow(contact.id);
  contactRows.set(contact.id, row);
  row.button.setAttribute('aria-current', String(contact.id === chosen));
  dress(row.avatar, contact);
  row.name.textContent = contact.name;
  row.last.textContent = contact.lastText || contact.phoneNumber;
  row.time.textContent = when(contact.lastAt);
  row.dot.hidden = contact.id === chosen || contact.lastAt <= (seen.get(contact.id) ?? Infinity);
  return row.item;
}

async function showContacts() {
  const { accountNumber, contacts } = await call('phone/contacts');
  $('account-number').textContent = accountNumber;
  for (const { id, lastAt } of contacts) if (!seen.has(id) || id === chosen) seen.set(id, lastAt);
  const focused = document.activeElement?.dataset?.contactId;
  const list = $('contacts');
  const listed = new Set(contacts.map(({ id }) => id));
  for (const [id, { item }] of contactRows) {
    if (listed.has(id)) continue;
    item.remove();
    contactRows.delete(id);
  }
  contacts.forEach((contact, index) => {
    const item = showRow(contact);
    const there = list.children[index] ?? null;
    if (there !== item) list.insertBefore(item, there);
  });
  // A row that moves loses the keyboard focus.
  contactRows.get(focused)?.button.focus();
  $('people-empty').hidden = contacts.length > 0;
  list.hidden = contacts.length === 0;
}

function choose(id) {
  chosen = id;
  history.replaceState(null, '', id === null ? location.pathname : `#${encodeURIComponent(id)}`);
  app.dataset.view = id === null ? 'list' : 'phone';
  $('send-problem').textContent = '';
  for (const [contactId, { button }] of contactRows)
    button.setAttribute('aria-current', String(contactId === id));
  refresh();
  if (id === null) return;
  // Show the phone first: a hidden element has no height and cannot take the focus.
  $('phone').hidden = false;
  $('nothing').hidden = true;
  showDraft();
  composer.focus();
}

// Conversation

function statusOf(message) {
  if (message.read) return 'Read';
  return message.delivered ? 'Delivered' : 'Sent';
}

function messageRow(message, previous, next) {
  const row = element('div', 'message');
  row.dataset.testid = 'message';
  row.dataset.messageId = message.id;
  row.dataset.direction = message.direction;
  row.dataset.service = message.service;
  if (previous?.direction !== message.direction) row.dataset.turn = 'new';
  if (shownFor === chosen && !shown.has(message.id)) row.classList.add('fresh');
  const bubble = element('div', 'bubble');
  bubble.append(element('span', 'visually-hidden', message.direction === 'inbound' ? 'You: ' : 'Received: '));
  if (message.text) bubble.append(element('span', 'message-text', message.text));
  for (const name of message.attachments) bubble.append(element('span', 'attachment', name));
  row.append(bubble);
  const turnEnds = next?.direction !== message.direction;
  const foot = element('div', 'message-foot');
  if (turnEnds) foot.append(`${clock.format(message.timestamp)} `);
  if (message.direction === 'outbound') {
    const status = element('span', 'message-status', statusOf(message));
    status.dataset.testid = 'message-status';
    status.dataset.state = statusOf(message).toLowerCase();
    if (turnEnds) foot.append('· ');
    foot.append(status);
  }
  if (foot.childNodes.length > 0) row.append(foot);
  return row;
}

function rowsOf(messages, total) {
  const rows = [];
  const earlier = total - messages.length;
  const noun = earlier === 1 ? 'message' : 'messages';
  if (earlier > 0) rows.push(element('p', 'earlier', `${earlier} earlier ${noun}`));
  let day = '';
  messages.forEach((message, index) => {
    const thisDay = new Date(message.timestamp).toDateString();
    if (thisDay !== day) rows.push(element('p', 'day', dayName.format(message.timestamp)));
    day = thisDay;
    rows.push(messageRow(message, messages[index - 1], messages[index + 1]));
  });
  return rows;
}

async function showConversation() {
  const wanted = chosen;
  $('phone').hidden = wanted === null;
  $('nothing').hidden = wanted !== null;
  if (wanted === null) return;
  let content;
  try {
    content = await call(`phone/messages?contactId=${encodeURIComponent(wanted)}`);
  } catch (error) {
    if (error.status !== 404) throw error;
    // The contact no longer exists, for example after a reset.
    if (chosen === wanted) choose(null);
    return;
  }
  if (chosen !== wanted) return;
  const { contact, messages, total } = content;
  $('phone-name').textContent = contact.name;
  $('phone-number').textContent = contact.phoneNumber;
  dress($('phone-avatar'), contact);
  $('mark-read').disabled = !messages.some(({ direction, read }) => direction === 'outbound' && !read);
  const atEnd = conversation.scrollHeight - conversation.scrollTop - conversation.clientHeight < 80;
  conversation.replaceChildren(...rowsOf(messages, total));
  const changedPhone = shownFor !== wanted;
  shown = new Set(messages.map(({ id }) => id));
  shownFor = wanted;
  if (atEnd || changedPhone) conversation.scrollTop = conversation.scrollHeight;
}

// Only one refresh runs at a time. A change during a refresh causes one more refresh.
let refreshing = false;
let again = false;
let retry;

async function refresh() {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  try {
    do {
      again = false;
      await Promise.all([showContacts(), showConversation()]);
    } while (again);
    if (stream.readyState === EventSource.OPEN) live('live');
  } catch {
    live('lost');
    // A stream that stayed open does not cause another refresh.
    clearTimeout(retry);
    retry = setTimeout(refresh, RETRY_MS);
  } finally {
    refreshing = false;
  }
}

// User actions

async function attempt(problem, work) {
  problem.textContent = '';
  try {
    await work();
    await refresh();
    return true;
  } catch (error) {
    problem.textContent = error.message;
    return false;
  }
}

function fitComposer() {
  composer.style.height = 'auto';
  if (composer.scrollHeight > 0) composer.style.height = `${composer.scrollHeight + 2}px`;
  $('send').disabled = composer.value.trim() === '';
}

function showDraft() {
  composer.value = drafts.get(chosen) ?? '';
  fitComposer();
}

composer.addEventListener('input', () => {
  drafts.set(chosen, composer.value);
  fitComposer();
});
composer.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $('compose').requestSubmit();
});

$('compose').addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = composer.value;
  const contactId = chosen;
  const problem = $('send-problem');
  const name = $('phone-name').textContent;
  if (message.trim() === '' || contactId === null) return;
  drafts.delete(contactId);
  showDraft();
  if (!(await attempt(problem, () => call('typing', { contactId, message })))) {
    if (!drafts.get(contactId)) drafts.set(contactId, message);
    if (chosen !== contactId) problem.textContent = `Message of ${name}: ${problem.textContent}`;
  }
  if (chosen !== contactId) return;
  showDraft();
  conversation.scrollTop = conversation.scrollHeight;
});

$('mark-read').addEventListener('click', () =>
  attempt($('send-problem'), () => call('messages/read', { contactId: chosen })),
);

$('add').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = $('add-number');
  const phoneNumber = field.value.replace(/[\s().-]/g, '');
  return attempt($('add-problem'), async () => {
    const { contacts } = await call('contacts', { phoneNumber });
    field.value = '';
    choose(contacts[0].id);
  });
});

$('back').addEventListener('click', () => choose(null));

// Live updates

function live(state) {
  $('live').dataset.state = state;
  $('live').textContent = { live: 'Live', lost: 'Reconnecting', connecting: 'Connecting' }[state];
}

const stream = new EventSource('/_simulator/phone/stream');
stream.addEventListener('open', () => {
  live('live');
  refresh();
});
stream.addEventListener('message', refresh);
stream.addEventListener('error', () => live('lost'));

fitComposer();
app.dataset.view = chosen === null ? 'list' : 'phone';
refresh();
