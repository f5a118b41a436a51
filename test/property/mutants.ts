/** A fault that is put into the product on purpose, to see whether the property finds it. */
export interface Mutant {
  name: string;
  patches: readonly Patch[];
}

/** A text that stands once in a file, and what stands there instead. */
export interface Patch {
  file: string;
  from: string;
  to: string;
}

const FEED = 'libs/feed/src/';

const one = (name: string, file: string, from: string, to: string): Mutant => ({
  name,
  patches: [{ file: FEED + file, from, to }],
});

/** Faults of the kinds that others' bug trackers are full of. */
export const MUTANTS: readonly Mutant[] = [
  one(
    'a first read takes what was stamped in its last minute as there before',
    'diff/first-read.ts',
    'message.timestamp > first.tellAfter',
    'message.timestamp > first.tellAfter + 60_000',
  ),
  one(
    'only what is newer than the newest known timestamp is new (strict >)',
    'diff/diff.ts',
    'if (change === undefined) continue;',
    `if (change === undefined) continue;
    const newest = Math.max(...[...input.known.values()].map(({ timestamp = 0 }) => timestamp));
    if (before === undefined && !((message.timestamp ?? Infinity) > newest)) continue;`,
  ),
  one(
    'a first read tells everything',
    'diff/diff.ts',
    'const told = input.firstRead === undefined ||',
    'const told = true ||',
  ),
  one(
    'a first read tells nothing',
    'diff/diff.ts',
    'const told = input.firstRead === undefined ||',
    'const told = input.firstRead === undefined || false &&',
  ),
  one(
    'a page that is shorter than was asked for is the last one',
    'poll/deep-read.ts',
    'unreadable = 0;\n      if (read.repeats) {',
    `unreadable = 0;
      if (read.ids.length < PAGE_LIMIT) {
        this.orderSeen.add(read.items);
        this.lastIds = [...this.lastIds, ...read.ids].slice(-TAIL_IDS);
        this.stable = true;
        return page;
      }
      if (read.repeats) {`,
  ),
  one(
    'only the first page is read',
    'poll/deep-read.ts',
    'if (page === 1) this.firstIds = read.ids;',
    `this.firstIds = read.ids;
      this.stable = true;
      if (page === 1) return page;`,
  ),
  one(
    'a page on which something is new is the last that is read',
    'walk/head-walk.ts',
    'return endsNew || (ids.length === 0 && count > 0);',
    'return endsNew && ids.length === 0 && count > 0;',
  ),
  one(
    'of two forms within one walk the first is kept',
    'walk/page-reader.ts',
    'this.seen.set(message.id, message);',
    'if (!this.seen.has(message.id)) this.seen.set(message.id, message);',
  ),
  one(
    'the tail of an oldest-first list does not step on',
    'walk/head-walk.ts',
    'last !== undefined && last.count >= last.limit;',
    'last !== undefined && last.count > last.limit;',
  ),
  one(
    'pages that shifted while they were read are not read again',
    'walk/head-walk.ts',
    'if (pages > 1) await this.lookAgain(pages - 1, top.limit);',
    '',
  ),
  one(
    'sweeps are forgotten',
    'poll/contact-poll.ts',
    'return memory.completeAt + this.settings.sweepMs <= now;',
    'return false;',
  ),
  one(
    'unsettled messages are not looked up',
    'poll/contact-poll.ts',
    "return lookDueAt !== undefined && lookDueAt <= state.now ? 'look' : undefined;",
    "return lookDueAt === 0 ? 'look' : undefined;",
  ),
  {
    name: 'what was seen is marked before its events are stored',
    patches: [
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: "import { eventArguments, logKeys } from '#events';",
        to: "import { eventArguments, logKeys, RedisEventLog } from '#events';",
      },
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: `          ...eventArguments(account, events),
        ],
      },
    );
    return done === 1;`,
        to: `          ...eventArguments(account, []),
        ],
      },
    );
    if (done === 1) await new RedisEventLog(this.redis, this.prefix).append(account, events);
    return done === 1;`,
      },
    ],
  },
  {
    name: 'events are stored before what was seen is marked',
    patches: [
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: "import { eventArguments, logKeys } from '#events';",
        to: "import { eventArguments, logKeys, RedisEventLog } from '#events';",
      },
      {
        file: `${FEED}redis/redis-feed-store.ts`,
        from: 'const done = await commitPoll.run(',
        to: 'await new RedisEventLog(this.redis, this.prefix).append(account, events);\n    const done = await commitPoll.run(',
      },
    ],
  },
  {
    name: 'a poll has no fence',
    patches: [
      {
        file: `${FEED}redis/lua/commit-poll.lua`,
        from: "if redis.call('HGET', contact, 'v') ~= version then return 0 end",
        to: '',
      },
      // Without the fence the second of two commits finds no `hastenedTo`, and the script would fail.
      {
        file: `${FEED}redis/lua/commit-poll.lua`,
        from: "'LT', redis.call('HGET', contact, 'hastenedTo'), contact_id",
        to: "'LT', redis.call('HGET', contact, 'hastenedTo') or '0', contact_id",
      },
    ],
  },
  one(
    'a list has no fence',
    'redis/lua/commit-contacts.lua',
    "if (redis.call('HGET', list, 'version') or '0') ~= version then return 0 end",
    '',
  ),
  one('that delivery was told is not kept', 'diff/diff.ts', 'known[told] = true;', 'known[told] = false;'),
  one(
    'the revision of a message is not raised',
    'diff/diff.ts',
    'Math.max(this.known.revision, revisionFloor) + 1;',
    'Math.max(this.known.revision, revisionFloor);',
  ),
  one(
    'a flag that goes back is delivered again',
    'diff/diff.ts',
    'if (message[flag] && !before[told]) {',
    'if (message[flag]) {',
  ),
  one(
    'absence from one read is deletion',
    'diff/absence.ts',
    'if (before.missingSince === undefined) {',
    'if (before.missingSince === undefined && input.apartMs < 0) {',
  ),
  one(
    'two reads of one minute are enough for a deletion',
    'diff/absence.ts',
    'input.now - before.missingSince < input.apartMs',
    'input.now - before.missingSince < 0',
  ),
  one(
    'absence from a read that was not complete is deletion',
    'poll/poll-conclusion.ts',
    `reading.everything?.stable === true
        ? this.absences(start, reading, reading.everything, known)
        : undefined;`,
    `this.absences(
        start,
        reading,
        {
          seen: new Set(reading.served.map(({ id }) => id)),
          stable: true,
          ...reading.everything,
          knownBefore: new Set((await this.store.allKnownMessages(account, contactId)).keys()),
        },
        await this.store.allKnownMessages(account, contactId),
      );`,
  ),
  one(
    'absence from a read while which pages shifted is deletion',
    'poll/deep-read.ts',
    'this.stable = read.count === 0 && count === this.reader.servedCount;',
    'this.stable = true;',
  ),
  one(
    'a page that repeats others is the end of what is there',
    'poll/deep-read.ts',
    'this.stable = read.count === 0 && count === this.reader.servedCount;',
    'this.stable = count === this.reader.servedCount;',
  ),
  one(
    'however much is missing is believed',
    'diff/absence.ts',
    'return missing > FEW && missing > of * BELIEVED_PART;',
    'return missing > FEW * 1e9 && missing > of * BELIEVED_PART;',
  ),
  one(
    'a message that returns is told as new',
    'diff/diff.ts',
    'before === undefined || form === undefined\n        ? arrival(',
    'before === undefined || before.deleted || form === undefined\n        ? arrival(',
  ),
  one(
    'that a message returned is not told',
    'diff/diff.ts',
    'if (before.deleted) updates.deleted = { from: true, to: false };',
    '',
  ),
  {
    name: 'a page that failed is an empty one',
    patches: [
      {
        file: `${FEED}poll/contact-poll.ts`,
        from: 'read: (page, limit) => this.source.listMessages(account, contactId, page, limit, purpose),',
        to: `read: (page, limit) =>
          this.source
            .listMessages(account, contactId, page, limit, purpose)
            .catch((error: unknown) =>
              Promise.resolve(error instanceof Error && error.name.startsWith('Upstream') ? { items: [], skipped: 0 } : Promise.reject(error)),
            ),`,
      },
      {
        file: `${FEED}poll/committed-pages.ts`,
        from: '(page, limit) => source.listMessages(account, contactId, page, limit, purpose),',
        to: `(page, limit) =>
        source
          .listMessages(account, contactId, page, limit, purpose)
          .catch((error: unknown) =>
            Promise.resolve(error instanceof Error && error.name.startsWith('Upstream') ? { items: [], skipped: 0 } : Promise.reject(error)),
          ),`,
      },
    ],
  },
  {
    name: 'a reply without a list is an empty list',
    patches: [
      {
        file: 'libs/upstream/src/reply/reply-list.ts',
        from: 'throw new UpstreamReplyError(`the reply holds no list of ${name}`);',
        to: 'return { list: [], beside: {} };',
      },
    ],
  },
  one(
    'a contact that is missing from one list is deleted',
    'contacts/contact-list-poll.ts',
    'if (before.missingSince === undefined) {',
    'if (before.missingSince === undefined && this.absenceMs < 0) {',
  ),
];
