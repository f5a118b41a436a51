/** A read-only set of ids, of which only the size and the test for an id are available. */
export type IdSet = Pick<ReadonlySet<string>, 'has' | 'size'>;

/** What a page shows about its messages, compared with the pages that were read before it. */
export interface RecordedPage {
  /**
   * Ids of the messages that were on no earlier page since the last call of {@link MessageRecords.beginPass}.
   */
  added: ReadonlySet<string>;
  /** True if the last message of the page was not known before this read. */
  lastIsNew: boolean;
  /** True if the first message of the page was not known before this read. */
  firstIsNew: boolean;
  /**
   * True if every message of the page was also on an earlier page since the last call of
   * {@link MessageRecords.beginPass}. Also true for a page without a readable message.
   */
  repeats: boolean;
}

/** Records which messages a read has found, and in which pass through the list each of them was last found. */
export class MessageRecords {
  /**
   * What is recorded of each message, by id; see {@link recordOf}. Each record is one number to save memory, because
   * a list may have 200,000 messages.
   */
  private readonly records = new Map<string, number>();
  /** Ids of all messages that were found. */
  readonly ids: IdSet = this.records;
  /** Number of the current pass through the list. Each call of {@link beginPass} begins a new pass. */
  private pass = 1;
  /** Number of different messages on the pages that were read since the last call of {@link beginPass}. */
  servedCount = 0;
  /**
   * True if a message appeared on two pages although no new messages had moved it from the end of one page to the
   * beginning of the next. The read may then have missed a message.
   */
  servedTwice = false;
  /** Ids of the messages on the most recently read page that was not empty. */
  private previousIds: readonly string[] = [];
  /** Value of {@link previousIds} before the most recent page. Restored by {@link undoLastPage}. */
  private idsBefore: readonly string[] = [];
  /**
   * Ids of the messages on the most recently read page, without those that were on an earlier page since the last
   * call of {@link beginPass}.
   */
  private lastServed: readonly string[] = [];

  /**
   * Must be called before the list is read again from its first page. After this call, a page or message counts as
   * repeated only if it is read twice after the call.
   */
  beginPass(): void {
    this.pass += 1;
    this.servedCount = 0;
    this.servedTwice = false;
    this.previousIds = [];
    this.lastServed = [];
  }

  /**
   * Records a page.
   * @param ids ids of the messages on the page
   * @param newIds those ids that were neither known before this read nor on an earlier page of this read
   */
  add(ids: readonly string[], newIds: readonly string[]): RecordedPage {
    for (const id of newIds) this.records.set(id, recordOf(0, true));
    const added = new Set(ids.filter((id) => !this.isServed(id)));
    this.lastServed = [...added];
    this.servedCount += added.size;
    const repeated = ids.length - added.size;
    this.servedTwice ||= repeated > 0 && !this.isShiftedDown(ids, repeated);
    this.idsBefore = this.previousIds;
    if (ids.length > 0) this.previousIds = ids;
    for (const id of ids) this.records.set(id, recordOf(this.pass, this.isNew(id)));
    const [first, last] = [ids[0], ids.at(-1)];
    return {
      added,
      lastIsNew: last !== undefined && this.isNew(last),
      firstIsNew: first !== undefined && this.isNew(first),
      repeats: added.size === 0,
    };
  }

  /**
   * Undoes the most recent call of {@link add}: the messages count as not read in the current pass. But {@link ids}
   * still contains them, and {@link servedTwice} stays as it is.
   */
  undoLastPage(): void {
    for (const id of this.lastServed) this.records.set(id, recordOf(0, this.isNew(id)));
    this.servedCount -= this.lastServed.length;
    this.lastServed = [];
    this.previousIds = this.idsBefore;
  }

  /** Returns true if a message was on a page that was read since the last call of {@link beginPass}. */
  private isServed(id: string): boolean {
    return (this.records.get(id) ?? 0) >> 1 === this.pass;
  }

  /** Returns true if a message was found by this read and was not known before. */
  private isNew(id: string): boolean {
    return ((this.records.get(id) ?? 0) & 1) === 1;
  }

  /**
   * Returns true if the page begins with the last messages of the previous page. This happens if new messages moved
   * the older messages down the list.
   */
  private isShiftedDown(ids: readonly string[], repeated: number): boolean {
    const end = this.previousIds.slice(-repeated);
    return end.length === repeated && end.every((id, i) => id === ids[i]);
  }
}

/**
 * Packs the record of a message into one number.
 * @param pass number of the last pass whose pages contained the message; 0 if there was none
 * @param isNew true if the message was not known before this read
 */
function recordOf(pass: number, isNew: boolean): number {
  return pass * 2 + (isNew ? 1 : 0);
}
