/** A deliberate fault in the product that the property must find. */
export interface Mutant {
  name: string;
  patches: readonly Patch[];
}

/** Replaces a text that occurs exactly once in a file. */
export interface Patch {
  file: string;
  from: string;
  to: string;
}

const FEED = 'libs/feed/src/';

const ROWS = 'libs/conversations/src/';

const patched = (name: string, file: string, from: string, to: string): Mutant => ({
  name,
  patches: [{ file: FEED + file, from, to }],
});

const rowPatched = (name: string, file: string, from: string, to: string): Mutant => ({
  name,
  patches: [{ file: ROWS + file, from, to }],
});

/** Typical faults of events, many of them known from the issue trackers of other projects. */
const EVENT_MUTANTS: readonly Mutant[] = [
  patched(
    'a first read treats messages of the last minute as old',
    'diff/first-read.ts',
    'message.timestamp > first.emitAfter',
    'message.timestamp > first.emitAfter + 60_000',
  ),
  patched(
    'only messages newer than the newest known timestamp are new (strict >)',
    'diff/diff.ts',
    'if (change === undefined) continue;',
    `if (change === undefined) continue;
    const newest = Math.max(...input.compared.map(({ before }) => before?.timestamp ?? 0));
    if (before === undefined && !((message.timestamp ?? Infinity) > newest)) continue;`,
  ),
  patched(
    'a first read reports all messages',
    'diff/diff.ts',
    'const isEmitted =\n    input.firstReadEventRule === undefined ||',
    'const isEmitted =\n    true ||',
  ),
  patched(
    'a first read reports no message',
    'diff/diff.ts',
    'const isEmitted =\n    input.firstReadEventRule === undefined ||',
    'const isEmitted =\n    input.firstReadEventRule === undefined || false &&',
  ),
  patched(
    'a page shorter than the limit ends the read',
    'poll/full-walk.ts',
    'unreadable = 0;\n      if (read.repeats) {',
    `unreadable = 0;
      if (read.ids.length < DOCUMENTED_MAX_MESSAGES_PER_PAGE) {
        this.orderDetector.add(read.items);
        this.lastIds = [...this.lastIds, ...read.ids].slice(-TAIL_IDS);
        this.isStable = true;
        return page;
      }
      if (read.repeats) {`,
  ),
  patched(
    'only the first page is read',
    'poll/full-walk.ts',
    'if (page === 1) this.firstIds = read.ids;',
    `this.firstIds = read.ids;
      this.isStable = true;
      if (page === 1) return page;`,
  ),
  patched(
    'a page with a new message ends the read',
    'walk/newest-first-walk.ts',
    'if (lastIsNew || (ids.length === 0 && count > 0)) return true;',
    'if (lastIsNew && ids.length === 0 && count > 0) return true;',
  ),
  patched(
    'the first of two versions of a message in one read wins',
    'walk/page-reader.ts',
    'this.seen.set(message.id, message);',
    'if (!this.seen.has(message.id)) this.seen.set(message.id, message);',
  ),
  patched(
    'a read of an oldest-first list does not continue after a full last page',
    'walk/oldest-first-walk.ts',
    'last !== undefined && last.count >= last.limit;',
    'last !== undefined && last.count > last.limit;',
  ),
  patched(
    'pages that shifted during a read are not read again',
    'walk/newest-first-walk.ts',
    'const hasGrown = pages > 1 && (await repeatFirstPages(walk, pages - 1, top.limit));',
    'const hasGrown = false;',
  ),
  patched(
    'sweeps never run',
    'poll/sweep.ts',
    'return completeAt === undefined || completeAt + intervalMs <= now;',
    'return completeAt === undefined || completeAt + intervalMs < 0;',
  ),
  patched(
    'messages with changing flags are not polled again',
    'poll/contact-poller.ts',
    "return flagCheckDueAt !== undefined && flagCheckDueAt <= state.now ? 'unsettled' : undefined;",
    "return flagCheckDueAt === 0 ? 'unsettled' : undefined;",
  ),
  {
    name: 'the snapshot is stored before its events',
    patches: [
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: "import { appendEventsLuaArguments, eventLogRedisKeys } from '#events';",
        to: "import { appendEventsLuaArguments, eventLogRedisKeys, RedisEventLog } from '#events';",
      },
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: `          ...appendEventsLuaArguments(account, events),
        ],
      },
    );
    return Array.isArray(reply) ? { delaysMs: reply.map(Number) } : undefined;`,
        to: `          ...appendEventsLuaArguments(account, []),
        ],
      },
    );
    if (Array.isArray(reply)) await new RedisEventLog(this.redis, this.prefix).append(account, events);
    return Array.isArray(reply) ? { delaysMs: reply.map(Number) } : undefined;`,
      },
    ],
  },
  {
    name: 'events are stored before the snapshot',
    patches: [
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: "import { appendEventsLuaArguments, eventLogRedisKeys } from '#events';",
        to: "import { appendEventsLuaArguments, eventLogRedisKeys, RedisEventLog } from '#events';",
      },
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: 'const reply = await commitPollScript.run(',
        to: 'await new RedisEventLog(this.redis, this.prefix).append(account, events);\n    const reply = await commitPollScript.run(',
      },
    ],
  },
  {
    name: 'the commit of a poll has no fence',
    patches: [
      {
        file: `${FEED}redis/lua/commit-poll.lua`,
        from: "if redis.call('HGET', contact, 'v') ~= version then return 0 end",
        to: '',
      },
      // Without this patch, the script of the second poll would fail instead of writing.
      {
        file: `${FEED}redis/lua/commit-poll.lua`,
        from: "'LT', redis.call('HGET', contact, 'hastenedTo'), contact_id",
        to: "'LT', redis.call('HGET', contact, 'hastenedTo') or '0', contact_id",
      },
    ],
  },
  patched(
    'the commit of a contact list has no fence',
    'redis/lua/commit-contacts.lua',
    "if (redis.call('HGET', list, 'version') or '0') ~= version then return 0 end",
    '',
  ),
  patched(
    'the feed does not record that a flag was reported',
    'diff/diff.ts',
    'known[emittedFlag] = true;',
    'known[emittedFlag] = false;',
  ),
  patched(
    'the revision of a message does not increase',
    'diff/diff.ts',
    'Math.max(this.known.revision, revisionFloor) + 1;',
    'Math.max(this.known.revision, revisionFloor);',
  ),
  patched(
    'a flag that is set again is reported again',
    'diff/diff.ts',
    'if (message[flag] && !before[emittedFlag]) {',
    'if (message[flag]) {',
  ),
  patched(
    'absence from one read counts as deletion',
    'diff/absence.ts',
    'if (before.missingSince === undefined) {',
    'if (before.missingSince === undefined && input.minApartMs < 0) {',
  ),
  patched(
    'two reads within a minute are enough for a deletion',
    'diff/absence.ts',
    'input.startedAt - before.missingSince < input.minApartMs',
    'input.now - before.missingSince < 0',
  ),
  patched(
    'absence from an incomplete read counts as deletion',
    'poll/poll-committer.ts',
    `reading.fullRead?.isStable === true
        ? this.missing.find(start, reading, reading.fullRead, known, newRevisionsAbove)
        : undefined;`,
    `this.missing.find(
        start,
        reading,
        {
          seen: new Set(reading.served.map(({ id }) => id)),
          isStable: true,
          ...reading.fullRead,
          knownBefore: new Set((await this.store.allKnownMessages(start.account, contactId)).keys()),
        },
        await this.store.allKnownMessages(start.account, contactId),
        newRevisionsAbove,
      );`,
  ),
  patched(
    'absence from a read with shifted pages counts as deletion',
    'poll/full-walk.ts',
    'this.isStable = read.count === 0 && count === this.reader.records.servedCount;',
    'this.isStable = true;',
  ),
  patched(
    'a page that repeats earlier messages ends the list',
    'poll/full-walk.ts',
    'this.isStable = read.count === 0 && count === this.reader.records.servedCount;',
    'this.isStable = count === this.reader.records.servedCount;',
  ),
  patched(
    'any number of missing messages counts as deleted',
    'diff/absence.ts',
    'return missing > MAX_FEW_MISSING && missing > total * MAX_MISSING_SHARE;',
    'return missing > MAX_FEW_MISSING * 1e9 && missing > total * MAX_MISSING_SHARE;',
  ),
  patched(
    'a message that returns is reported as new',
    'diff/diff.ts',
    'before === undefined || form === undefined\n        ? arrival(',
    'before === undefined || before.deleted || form === undefined\n        ? arrival(',
  ),
  patched(
    'the return of a message is not reported',
    'diff/diff.ts',
    'if (before.deleted) updates.deleted = { from: true, to: false };',
    '',
  ),
  patched(
    'an unchanged page is not compared although the state of the contact changed',
    'poll/unchanged-first-page.ts',
    'extension.unchangedPage?.version === version &&',
    'extension.unchangedPage !== undefined && version > 0 &&',
  ),
  {
    name: 'a failed page counts as an empty page',
    patches: [
      {
        file: `${FEED}walk/page-requests.ts`,
        from: 'return upstream.listMessages(account, contactId, page, limit, purpose);',
        to: `return upstream
      .listMessages(account, contactId, page, limit, purpose)
      .catch((error: unknown) =>
        Promise.resolve(error instanceof Error && error.name.startsWith('Upstream') ? { items: [], skipped: 0 } : Promise.reject(error)),
      );`,
      },
    ],
  },
  {
    name: 'a reply without a list counts as an empty list',
    patches: [
      {
        file: 'libs/upstream/src/reply/reply-envelope.ts',
        from: 'throw new UpstreamReplyUnreadableError(`the reply holds no list of ${name}`);',
        to: 'return { list: [], otherFields: {} };',
      },
      {
        file: 'libs/upstream/src/reply/json-list-scanner.ts',
        from: "if (list === undefined) throw new UpstreamReplyUnreadableError('the name of the list cannot be read');",
        to: '',
      },
    ],
  },
  patched(
    'a contact that is missing from one list counts as deleted',
    'contacts/contact-updates.ts',
    'if (before.missingSince === undefined) {',
    'if (before.missingSince === undefined && this.absenceMs < 0) {',
  ),
];

/** Faults of the conversation rows. */
const ROW_MUTANTS: readonly Mutant[] = [
  rowPatched(
    'the last message of a row is the one that was found last',
    'redis/lua/includes/row-messages.lua',
    'local is_last = not row.m or is_earlier(row.m, position)',
    'local is_last = true',
  ),
  rowPatched(
    'rows with messages of the same time do not compare ids',
    'redis/lua/includes/rows.lua',
    'return is_before(a[2], b[2])',
    'return true',
  ),
  rowPatched(
    'the list of rows begins with the oldest',
    'redis/lua/list-rows.lua',
    "redis.call('ZREVRANGE', row_order, first, first + limit - 1, 'WITHSCORES')",
    "redis.call('ZRANGE', row_order, first, first + limit - 1, 'WITHSCORES')",
  ),
  rowPatched(
    'an edit of the last message does not change the preview',
    'redis/lua/includes/row-messages.lua',
    'if row.m and row.m[2] == message and row.m[4] ~= preview then',
    'if false then',
  ),
  rowPatched(
    'an edit of the last message moves the row',
    'redis/lua/includes/row-messages.lua',
    'row.m[4] = preview',
    'row.m[4], row.m[1] = preview, row.m[1] + 1',
  ),
  rowPatched(
    'a preview is as long as the message',
    'row/preview.ts',
    'if (text.length <= MAX_PREVIEW_LENGTH) return text;',
    'if (text.length > 0) return text;',
  ),
  patched(
    'messages of a baseline are unread',
    'poll/row-update.ts',
    'received.has(message.id) ?',
    "message.direction === 'inbound' ?",
  ),
  patched(
    'messages of a new baseline after a loss are unread',
    'poll/row-update.ts',
    'received.has(message.id) ?',
    "received.has(message.id) || (isResync && message.direction === 'inbound') ?",
  ),
  patched(
    'a message that returns after its deletion is unread again',
    'poll/row-update.ts',
    'received.has(message.id) ?',
    "received.has(message.id) || (message.direction === 'inbound' && before.get(message.id)?.deleted === true) ?",
  ),
  patched(
    'unread messages whose ids are numbers do not count',
    'poll/row-update.ts',
    'String((data.message as { id: unknown }).id)',
    '(data.message as { id: string }).id',
  ),
  rowPatched(
    'an outbound message does not answer earlier messages',
    'redis/lua/includes/row-messages.lua',
    'row.o = position\n          answer_up_to(row, position)',
    'row.o = position',
  ),
  rowPatched(
    'an outbound message that is found late answers later messages, too',
    'redis/lua/includes/row-messages.lua',
    'row.o = position\n          answer_up_to(row, position)',
    'row.o = position\n          row.w = nil',
  ),
  rowPatched(
    'an inbound message that is found late waits although it was answered',
    'redis/lua/includes/row-messages.lua',
    'if not row.o or is_earlier(row.o, position) then\n          changed = add_waiting',
    'if true then\n          changed = add_waiting',
  ),
  rowPatched(
    'a contact waits only since its last message',
    'redis/redis-conversation-codec.ts',
    'waitingSince: row.w?.[0]?.[0],',
    'waitingSince: row.w?.at(-1)?.[0],',
  ),
  rowPatched(
    'messages are marked as seen whatever their position',
    'redis/lua/mark-seen.lua',
    'if waiting[3] == 1 and not is_earlier(position, waiting) then',
    'if waiting[3] == 1 then',
  ),
  rowPatched(
    'messages after the seen one become unread again',
    'redis/lua/mark-seen.lua',
    'if waiting[3] == 1 and not is_earlier(position, waiting) then\n    waiting[3] = 0',
    'local unread = is_earlier(position, waiting) and 1 or 0\n  if waiting[3] ~= unread then\n    waiting[3] = unread',
  ),
  rowPatched(
    'an accepted send is not pending',
    'row/send-category.ts',
    "    case 'accepted':\n      return 'p';",
    "      return 'p';",
  ),
  rowPatched(
    'a send that ended still counts',
    'redis/lua/includes/row-sends.lua',
    "if before ~= '' and sends[before] > 0 then",
    "if before == 'f' and sends[before] > 0 then",
  ),
  rowPatched('an unknown send is not failed', 'row/send-category.ts', "    case 'unknown':\n", ''),
  rowPatched(
    'a failed send that is resent still counts as failed',
    'redis/lua/includes/row-sends.lua',
    "if before ~= '' and sends[before] > 0 then",
    "if before == 'p' and sends[before] > 0 then",
  ),
  rowPatched(
    'a cancelled send stays the last entry',
    'redis/lua/includes/row-sends.lua',
    'local was_shown = is_over and remove_preview(sends, send_id)',
    'local was_shown = is_over',
  ),
  rowPatched(
    'the last activity stays at a cancelled send',
    'redis/lua/includes/row-sends.lua',
    "redis.call('ZADD', row_order, 'XX', last, id)",
    '',
  ),
  {
    name: 'a row no longer shows a send before its message is committed',
    patches: [
      {
        file: 'libs/relay/src/redis/redis-relay-store.ts',
        from: "isOver: after.status === 'cancelled' ? 'over' : '',",
        to: "isOver: after.status === 'cancelled' || after.messageId !== undefined ? 'over' : '',",
      },
    ],
  },
  rowPatched(
    'a row shows a send beside its message',
    'redis/lua/includes/row-messages.lua',
    'if remove_preview(sends, send_id) then save_sends(number, sends) end',
    '',
  ),
  patched(
    'a number leads to the first contact that used it',
    'redis/lua/includes/note-number.lua',
    '  if by_message then\n',
    '  if false then\n',
  ),
  patched(
    'a change of an old message moves its number',
    'poll/poll-commit-of-read.ts',
    'next.has(id) && known.get(id)?.deleted !== false',
    'next.has(id)',
  ),
  rowPatched(
    'sends stay in the row of a contact to which their number no longer leads',
    'redis/lua/includes/show-rows.lua',
    "if not seen[number] and redis.call('HGET', numbers, number) == id then",
    'if not seen[number] then',
  ),
  rowPatched(
    "a contact's row does not replace the row of its number",
    'redis/lua/includes/row-messages.lua',
    "if redis.call('ZREM', row_order, number) == 0 then return false end",
    'if true then return false end',
  ),
  patched(
    'the row is not recomputed when messages are deleted',
    'poll/row-update.ts',
    '...rowMessages.entries()];',
    '...(endsResync ? rowMessages.entries() : [])];',
  ),
  rowPatched(
    'a deleted message stays in its row',
    'redis/lua/includes/row-messages.lua',
    '      remove_message(row, message)\n',
    '',
  ),
  patched(
    'the complete read after a loss does not replace what the row contained',
    'poll/row-update.ts',
    "...(endsResync ? [{ kind: 'replace', upTo: startedAt } as const] : []),",
    '',
  ),
  patched(
    'a deleted contact keeps its row',
    'redis/lua/includes/listed-row.lua',
    "if redis.call('ZREM', row_order, id) == 0 then return end",
    'if true then return end',
  ),
  patched(
    'the sends to a deleted contact have no row',
    'redis/lua/includes/listed-row.lua',
    'each_own_number(id, load_row(id) or {}, show_number)',
    '',
  ),
  patched(
    'the row of a contact is not restored when the contact returns',
    'redis/lua/includes/listed-row.lua',
    'if not is_shown or #adopted > 0 then',
    'if is_shown or #adopted > 0 then',
  ),
  rowPatched(
    'the revision of a row does not increase',
    'redis/lua/includes/rows.lua',
    'row.v = next_row_revision()',
    'row.v = row.v or next_row_revision()',
  ),
];

export const MUTANTS: readonly Mutant[] = [...EVENT_MUTANTS, ...ROW_MUTANTS];
