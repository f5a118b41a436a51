import fc from 'fast-check';

/** The state and settings of upstream at the start of a history. */
export interface WorldSetup {
  /** Seed of the simulator's random decisions: ids and shuffles. */
  seed: number;
  order: Order;
  sortBy: 'timestamp' | 'arrival';
  /** Maximum number of messages per page. Null: as many as requested. */
  limitCap: number | null;
  limitIgnored: boolean;
  /** Status of the answer to a request for a page after the last one. Null: an empty page. */
  missingPageStatus: 404 | null;
  insertWhilePaging: number;
  wire: WireShapes;
  undated: 'silent' | 'emit';
  contacts: OldContact[];
  /** Final order of a shuffling upstream, so that everything can be read. */
  lastOrder: 'newestFirst' | 'oldestFirst';
}

export type Order = 'newestFirst' | 'oldestFirst' | 'random';

/** Settings of the simulator for the format of replies. */
export interface WireShapes {
  messagesShape: 'messages' | 'data' | 'items' | 'array';
  contactsShape: 'array' | 'contacts' | 'data' | 'items';
  idType: 'string' | 'number';
  attachmentShape: 'objects' | 'strings' | 'absent';
  timestampFormat: 'iso-Z' | 'iso-offset' | 'no-millis' | 'epoch-ms' | 'absent';
  directionValues: { inbound: string; outbound: string };
  extraContactFields: boolean;
  extraMessageFields: boolean;
}

/** A contact that exists before the first read. */
export interface OldContact {
  /** Number of pages, including a fraction. */
  pages: number;
  /** Time between two messages, in milliseconds. 0: all messages have the same timestamp. */
  gapMs: number;
  /** Age of the newest message, in milliseconds. */
  ageMs: number;
}

/** A change upstream, or of the time. Contacts and messages are given by number, modulo their count. */
export type Action =
  | {
      do: 'insert';
      contact: number;
      count: number;
      direction: 'inbound' | 'outbound' | 'sideways';
      gapMs: number;
      /**
       * Age of the message, in milliseconds. 0: the message is new. Otherwise an old message arrives late.
       */
      ageMs: number;
      delivered: boolean;
      read: boolean;
      /** The contact whose phone number the messages show. Absent: the contact itself. */
      numberOf?: number;
    }
  | { do: 'flags'; contact: number; message: number; delivered?: boolean; read?: boolean }
  | { do: 'edit'; contact: number; message: number; text: number }
  | { do: 'attach'; contact: number; message: number }
  | { do: 'delete'; contact: number; message: number; count: number }
  | { do: 'restore'; contact: number; message: number; count: number }
  | { do: 'deleteContact'; contact: number }
  | { do: 'restoreContact'; contact: number }
  | { do: 'renameContact'; contact: number; name: number }
  | { do: 'newContact'; old: OldContact }
  /** The account accepts a send to the number of a contact, which need not exist. */
  | { do: 'send'; contact: number; text: number; scheduled: boolean }
  /** A send moves to another status. Sends and the allowed transitions are given by number. */
  | { do: 'moveSend'; send: number; transition: number }
  /** Upstream shows the message of a send. */
  | { do: 'showSend'; send: number; ageMs: number }
  /** A message is marked as seen, with all inbound messages before it or alone. */
  | { do: 'markSeen'; contact: number; message: number; upTo: boolean }
  | { do: 'outage'; of: boolean | 'contacts' | 'messages' }
  | { do: 'order'; order: Order }
  | { do: 'clock'; seconds: number };

export const FAULTS = [
  'status',
  'html',
  'emptyObject',
  'holeInPages',
  'truncatedBody',
  'truncatedConnection',
  'resetBefore',
  'resetAfter',
  'poisonReplace',
  'poisonInsert',
] as const;

/** A fault of one page read. */
export interface PageFault {
  /** Number of the read, counted from 1. */
  read: number;
  kind: (typeof FAULTS)[number];
  position: number;
}

/** The death of a worker at a given operation. */
export interface Death {
  /** Number of the operation, counted from 1. Redis commands and page reads of a task are operations. */
  operation: number;
  /** True if the operation is still executed and only its reply is lost. */
  carriedOut: boolean;
}

/** A poll by one worker. */
export interface Task {
  read: 'contact' | 'list';
  contact: number;
  death?: Death;
  fault?: PageFault;
}

/** One or two workers poll at the same time. Actions may happen between their operations. */
export interface ReadStep {
  do: 'read';
  tasks: Task[];
  /** The order of the workers' turns, repeated from the start. */
  turns: number[];
  /** Actions before a given operation. Operations of all workers are counted together from 1. */
  meanwhile: { operation: number; action: Action }[];
}

export type Step = Action | ReadStep;

export interface History {
  setup: WorldSetup;
  steps: Step[];
}

const contact = fc.nat({ max: 2 });
const message = fc.oneof(fc.nat({ max: 1 }), fc.nat({ max: 3 }), fc.nat({ max: 200 }));
const oneIn = (times: number): fc.Arbitrary<boolean> => fc.nat({ max: times }).map((n) => n === 1);

const oldContact: fc.Arbitrary<OldContact> = fc.record({
  pages: fc.double({ min: 0, max: 3, noNaN: true, noDefaultInfinity: true }),
  gapMs: fc.constantFrom(1_000, 0, 1, 30_000),
  ageMs: fc.constantFrom(259_200_000, 0, 30_000, 60_000, 90_000, 86_400_000),
});

const insert: fc.Arbitrary<Action> = fc
  .record({
    do: fc.constant('insert' as const),
    contact,
    count: fc.oneof(
      { weight: 6, arbitrary: fc.constant(1) },
      { weight: 2, arbitrary: fc.integer({ min: 2, max: 5 }) },
      { weight: 1, arbitrary: fc.integer({ min: 6, max: 25 }) },
    ),
    direction: fc.constantFrom(
      'inbound' as const,
      'outbound' as const,
      'outbound' as const,
      'sideways' as const,
    ),
    gapMs: fc.constantFrom(10, 0, 1_000),
    ageMs: fc.oneof(
      { weight: 5, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(5_000, 3_600_000, 259_205_500) },
    ),
    delivered: fc.boolean(),
    read: oneIn(3),
    numberOf: fc.option(fc.nat({ max: 3 }), { freq: 10, nil: undefined }),
  })
  .map(({ numberOf, ...rest }) => (numberOf === undefined ? rest : { ...rest, numberOf }));

const sends: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      contact: fc.nat({ max: 3 }),
      text: fc.nat({ max: 7 }),
      scheduled: oneIn(7),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('moveSend' as const),
      send: fc.nat({ max: 9 }),
      transition: fc.oneof(fc.constant(0), fc.nat({ max: 9 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('showSend' as const),
      send: fc.nat({ max: 9 }),
      ageMs: fc.constantFrom(0, 0, 2_000),
    }),
  },
);

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 14, arbitrary: sends },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('markSeen' as const),
      contact,
      message: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 30 })),
      upTo: oneIn(2),
    }),
  },
  { weight: 24, arbitrary: insert },
  {
    weight: 18,
    arbitrary: fc.record(
      { do: fc.constant('flags' as const), contact, message, delivered: fc.boolean(), read: fc.boolean() },
      { requiredKeys: ['do', 'contact', 'message'] },
    ),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('edit' as const), contact, message, text: fc.nat({ max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('attach' as const), contact, message }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      contact,
      message,
      count: fc.oneof(
        { weight: 8, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.nat({ max: 30 }) },
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('restore' as const),
      contact,
      message,
      count: fc.oneof(
        { weight: 4, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.nat({ max: 30 }) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deleteContact' as const), contact }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restoreContact' as const), contact }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('renameContact' as const), contact, name: fc.nat({ max: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('newContact' as const), old: oldContact }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('outage' as const),
      of: fc.constantFrom<(boolean | 'contacts' | 'messages')[]>(
        false,
        false,
        false,
        true,
        'contacts',
        'messages',
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('order' as const),
      order: fc.constantFrom<Order[]>('newestFirst', 'oldestFirst', 'random'),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('clock' as const),
      seconds: fc.constantFrom(2, 15, 59, 61, 62, 120, 700, 3_601),
    }),
  },
);

const task = (readsContact: number): fc.Arbitrary<Task> =>
  fc
    .record({
      read: fc.oneof(
        { weight: readsContact, arbitrary: fc.constant('contact' as const) },
        { weight: 1, arbitrary: fc.constant('list' as const) },
      ),
      contact,
      death: fc.option(fc.record({ operation: fc.integer({ min: 1, max: 16 }), carriedOut: fc.boolean() }), {
        freq: 4,
        nil: undefined,
      }),
      fault: fc.option(
        fc.record({
          read: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5 })),
          kind: fc.constantFrom(...FAULTS),
          position: fc.nat({ max: 19 }),
        }),
        { freq: 7, nil: undefined },
      ),
    })
    .map(({ death, fault, ...rest }) => ({
      ...rest,
      ...(death === undefined ? {} : { death }),
      ...(fault === undefined ? {} : { fault }),
    }));

const read: fc.Arbitrary<ReadStep> = fc.record({
  do: fc.constant('read' as const),
  tasks: fc.oneof(
    { weight: 6, arbitrary: task(6).map((one) => [one]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(task(9), task(6), fc.boolean())
        .map(([one, other, same]) =>
          same ? [one, { ...other, read: one.read, contact: one.contact }] : [one, other],
        ),
    },
  ),
  turns: fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 12 }),
  meanwhile: fc.oneof(
    { weight: 3, arbitrary: fc.constant<ReadStep['meanwhile']>([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.record({ operation: fc.integer({ min: 1, max: 12 }), action }), {
        minLength: 1,
        maxLength: 3,
      }),
    },
  ),
});

/** Two workers poll one contact at the same time while the same message changes repeatedly. */
const contest: fc.Arbitrary<ReadStep> = fc
  .record({
    contact,
    message: fc.nat({ max: 1 }),
    turns: fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 12 }),
    changes: fc.array(
      fc.record({
        operation: fc.integer({ min: 1, max: 9 }),
        flag: fc.constantFrom('delivered' as const, 'read' as const, 'text' as const),
        on: fc.boolean(),
        text: fc.nat({ max: 3 }),
      }),
      { minLength: 2, maxLength: 4 },
    ),
  })
  .map(({ contact: one, message: which, turns, changes }) => ({
    do: 'read' as const,
    tasks: [
      { read: 'contact' as const, contact: one },
      { read: 'contact' as const, contact: one },
    ],
    turns,
    meanwhile: changes.map(({ operation, flag, on, text }) => ({
      operation,
      action:
        flag === 'text'
          ? { do: 'edit' as const, contact: one, message: which, text }
          : { do: 'flags' as const, contact: one, message: which, [flag]: on },
    })),
  }));

/**
 * More new messages than fit on a page arrive. One of the newest is deleted during the read, so that older
 * messages move to earlier pages.
 */
const shift: fc.Arbitrary<Step[]> = fc
  .record({
    contact,
    count: fc.integer({ min: 6, max: 25 }),
    operation: fc.integer({ min: 3, max: 8 }),
    message,
  })
  .map(({ contact: one, count, operation, message: which }) => [
    {
      ...{ do: 'insert' as const, contact: one, count, direction: 'inbound' as const },
      ...{ gapMs: 10, ageMs: 0, delivered: false, read: false },
    },
    {
      ...{ do: 'read' as const, tasks: [{ read: 'contact' as const, contact: one }], turns: [0] },
      meanwhile: [{ operation, action: { do: 'delete' as const, contact: one, message: which, count: 1 } }],
    },
  ]);

/** Two workers read the contact list at the same time while a contact is renamed. */
const listContest: fc.Arbitrary<Step[]> = fc
  .record({
    contact,
    names: fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 })),
    turns: fc.array(fc.nat({ max: 1 }), { minLength: 4, maxLength: 16 }),
    operation: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ contact: one, names: [before, after], turns, operation }): Step[] => [
    { do: 'renameContact', contact: one, name: before },
    {
      ...{ do: 'read', tasks: [0, 0].map((first) => ({ read: 'list' as const, contact: first })), turns },
      meanwhile: [{ operation, action: { do: 'renameContact', contact: one, name: after } }],
    },
  ]);

/** A new message is deleted, which the feed reports after two complete reads, and returns. */
const comeback: fc.Arbitrary<Step[]> = contact.map((one): Step[] => {
  const poll: Step = {
    ...{ do: 'read', tasks: [{ read: 'contact', contact: one }], turns: [0], meanwhile: [] },
  };
  const later: Step[] = [{ do: 'clock', seconds: 70 }, poll];
  return [
    {
      ...{ do: 'insert', contact: one, count: 1, direction: 'inbound', gapMs: 10, ageMs: 0 },
      ...{ delivered: false, read: false },
    },
    poll,
    { do: 'delete', contact: one, message: 0, count: 1 },
    ...[later, later, later].flat(),
    { do: 'restore', contact: one, message: 0, count: 30 },
    poll,
  ];
});

/** Upstream replaces all messages of a contact. */
const replacement: fc.Arbitrary<Step[]> = fc
  .record({
    contact,
    count: fc.integer({ min: 1, max: 20 }),
    direction: fc.constantFrom('inbound' as const, 'outbound' as const),
  })
  .map(({ contact: one, count, direction }): Step[] => [
    { do: 'delete', contact: one, message: 0, count: 200 },
    {
      ...{ do: 'insert', contact: one, count, direction, gapMs: 10, ageMs: 0 },
      delivered: false,
      read: false,
    },
    { do: 'read', tasks: [{ read: 'contact', contact: one }], turns: [0], meanwhile: [] },
  ]);

/** A send on its way to its message. The worker that finds the message may die before it commits the message. */
const delivery: fc.Arbitrary<Step[]> = fc
  .record({
    contact,
    text: fc.nat({ max: 7 }),
    order: fc.nat({ max: 1 }),
    death: fc.integer({ min: 0, max: 13 }),
  })
  .map(({ contact: one, text, order, death }): Step[] => [
    { do: 'send', contact: one, text, scheduled: false },
    ...[0, 0].map((transition): Step => ({ do: 'moveSend', send: -1, transition })),
    { do: 'showSend', send: -1, ageMs: 0 },
    ...(order === 0
      ? []
      : [
          { do: 'clock' as const, seconds: 2 },
          { do: 'send' as const, contact: one, text: 5, scheduled: false },
        ]),
    {
      do: 'read',
      tasks: [
        {
          read: 'contact',
          contact: one,
          ...(death < 8 ? {} : { death: { operation: death, carriedOut: false } }),
        },
      ],
      turns: [0],
      meanwhile: [],
    },
  ]);

/** A flag that is set, cleared and set again, with a poll after each change. */
const flicker: fc.Arbitrary<Step[]> = fc
  .record({
    contact,
    message: fc.nat({ max: 1 }),
    flag: fc.constantFrom('delivered' as const, 'read' as const),
  })
  .map(({ contact: one, message: which, flag }) =>
    [false, true, false, true].flatMap((on): Step[] => [
      { do: 'flags', contact: one, message: which, [flag]: on },
      { do: 'read', tasks: [{ read: 'contact', contact: one }], turns: [0], meanwhile: [] },
    ]),
  );

const setup: fc.Arbitrary<WorldSetup> = fc.record({
  seed: fc.nat({ max: 4_294_967_295 }),
  order: fc.constantFrom<Order[]>('newestFirst', 'newestFirst', 'oldestFirst', 'oldestFirst', 'random'),
  sortBy: fc.constantFrom('timestamp' as const, 'timestamp' as const, 'arrival' as const),
  limitCap: fc.constantFrom(null, 20, 7, 5, 5, 3, 3, 2, 1),
  limitIgnored: oneIn(15),
  missingPageStatus: fc.constantFrom(null, null, null, null, null, 404 as const),
  insertWhilePaging: fc.oneof(
    { weight: 8, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 7 }) },
  ),
  wire: fc.record({
    messagesShape: fc.constantFrom('messages' as const, 'data' as const, 'items' as const, 'array' as const),
    contactsShape: fc.constantFrom('contacts' as const, 'array' as const, 'data' as const, 'items' as const),
    idType: fc.constantFrom('string' as const, 'number' as const),
    attachmentShape: fc.constantFrom('objects' as const, 'strings' as const, 'absent' as const),
    timestampFormat: fc.oneof(
      { weight: 5, arbitrary: fc.constant('iso-Z' as const) },
      {
        weight: 3,
        arbitrary: fc.constantFrom('iso-offset' as const, 'no-millis' as const, 'epoch-ms' as const),
      },
      { weight: 1, arbitrary: fc.constant('absent' as const) },
    ),
    directionValues: fc.constantFrom(
      { inbound: 'inbound', outbound: 'outbound' },
      { inbound: 'INCOMING', outbound: 'Outgoing' },
      { inbound: 'received', outbound: 'sent' },
    ),
    extraContactFields: fc.boolean(),
    extraMessageFields: fc.boolean(),
  }),
  undated: fc.constantFrom('silent' as const, 'emit' as const),
  contacts: fc.array(oldContact, { minLength: 1, maxLength: 2 }),
  lastOrder: fc.constantFrom('newestFirst' as const, 'oldestFirst' as const),
});

/**
 * Generates histories with `min` to `max` steps. Most steps are polls, because only polls can miss
 * changes.
 */
export function histories(steps: { min: number; max: number }): fc.Arbitrary<History> {
  const stepGroup = fc.oneof(
    { weight: 16, arbitrary: read.map((step): Step[] => [step]) },
    { weight: 2, arbitrary: contest.map((step): Step[] => [step]) },
    { weight: 26, arbitrary: action.map((step): Step[] => [step]) },
    { weight: 1, arbitrary: shift },
    { weight: 1, arbitrary: flicker },
    { weight: 1, arbitrary: delivery },
    { weight: 1, arbitrary: replacement },
    { weight: 1, arbitrary: listContest },
    { weight: 1, arbitrary: comeback },
  );
  return fc.record({
    setup,
    // Steps are optional, so that fast-check can simplify a failing history below the minimum length.
    steps: fc
      .array(fc.option(stepGroup, { freq: 1_000_000, nil: undefined }), {
        ...{ minLength: steps.min, maxLength: steps.max, size: 'max' },
      })
      .map((all) => all.flatMap((one) => one ?? [])),
  });
}
