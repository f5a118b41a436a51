import {
  type Cursor,
  CursorExpiredError,
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
} from '#events';

const PAGE = 500;

/** A stretch of time, in ms since 1970: `since` is in it, `until` is not. */
export interface Window {
  since: number;
  until: number;
}

/** What the log has of a window up to its present end, page by page, oldest first. */
export async function* eventsIn(
  log: Pick<EventLog, 'read' | 'end'>,
  account: string,
  { since, until }: Window,
): AsyncGenerator<LoggedEvent[], void, void> {
  const end = await log.end(account);
  let after: Cursor | undefined =
    since < 1 ? undefined : { epoch: end.epoch, position: lastPlaceBefore(since) };
  for (;;) {
    const page = await readKept(log, account, after);
    const here = page.events.filter(({ position }) => !isBefore(end.position, position));
    yield here.filter(({ timestamp }) => Date.parse(timestamp) >= since && Date.parse(timestamp) < until);
    const last = page.events.at(-1);
    if (!page.hasMore || here.length < page.events.length) return;
    if (last !== undefined && !isBefore(last.position, lastPlaceBefore(until))) return;
    after = page.next;
  }
}

/** What was trimmed meanwhile is passed over: it cannot be told any more. */
async function readKept(
  log: Pick<EventLog, 'read'>,
  account: string,
  after: Cursor | undefined,
): Promise<EventPage> {
  try {
    return await log.read(account, after, PAGE);
  } catch (error) {
    if (!(error instanceof CursorExpiredError)) throw error;
    return log.read(account, undefined, PAGE);
  }
}

/** Places begin with the time of their event, by Redis' clock; the second part counts within a millisecond. */
function lastPlaceBefore(time: number): string {
  return `${Math.min(time, Number.MAX_SAFE_INTEGER) - 1}-18446744073709551615`;
}
