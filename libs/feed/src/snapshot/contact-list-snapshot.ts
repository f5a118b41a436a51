import type { ListedContacts } from './listed-contacts.js';
import type { UnreadableElementHistory } from './unreadable-elements.js';

/** Snapshot of an account's contact list. */
export interface ContactListSnapshot {
  /**
   * Number that increases with every commit that changes the contact list. The result of a read is not committed
   * if the version changed after the read started.
   */
  version: number;
  /** When this snapshot was read from Redis, in milliseconds since 1970 by Redis' clock. */
  now: number;
  /**
   * When the contact list was last read completely and no outage was suspected, in milliseconds since 1970 by
   * upstream's clock. Absent before the first complete read, and if the stored contacts are lost.
   */
  listedAt?: number;
  /**
   * True if a contact list of the account was ever committed completely. Stays true even if the stored
   * contacts are lost; {@link listedAt} is absent in that case.
   */
  wasListedBefore: boolean;
  /**
   * True if the last commit stored only a part of a contact list, and the new contacts of that list replace the known
   * ones; see `ListCommit.isReplaced`.
   */
  isReplacing: boolean;
  /**
   * When a read of the contact list first found so many contacts missing that an outage of upstream is likely, in
   * milliseconds since 1970 by Redis' clock. Absent if no outage is likely.
   */
  suspectSince?: number;
  /**
   * When an administrator last confirmed that missing contacts or messages of the account are really deleted,
   * in milliseconds since 1970 by Redis' clock.
   */
  deletionsConfirmedAt?: number;
  /**
   * When a read last found so many contacts or messages of the account missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock.
   */
  suspectAt?: number;
  /**
   * Each new change of a contact gets a revision above this number. Lower revisions may belong to changes that
   * Redis lost in a restart or failover.
   */
  revisionFloor: number;
  /**
   * Id of the current run of Redis, which ends with a restart or failover. The result of a read is not committed
   * if the run changed after the read started.
   */
  redisRun: string;
  /**
   * Number of unreadable elements in the most recent contact list that contained all known contacts. Stored for
   * compatibility with earlier builds of Tidings, which do not store {@link unreadable}.
   */
  skipped: number;
  /**
   * How the number of unreadable elements in the contact list has changed. Absent before the first complete read of
   * the list, and if the stored contacts are lost.
   */
  unreadable?: UnreadableElementHistory;
  /** Number of contacts of the account that are scheduled for polling. */
  scheduled: number;
  /**
   * Hash of the upstream address from which the last contact list was read. Absent before the first read of
   * the list.
   */
  upstream?: string;
  /**
   * The messaging service behind each upstream address from which a contact list was read. Key: hash of the
   * address. Value: id of the service, which is the hash of the earliest known address of the service.
   */
  services: ReadonlyMap<string, string>;
  contacts: ListedContacts;
}
