/** Says that a send was stored, or that its status has changed. The fields have the values after the change. */
export interface SendStatusNotice {
  id: string;
  status: string;
  /** The caller's own identifier for the send. */
  reference: string | null;
  /** Increases with every change of the send. */
  revision: number;
  /** Phone number of the recipient in E.164 form. */
  phoneNumber: string;
  /** Id of the contact that the send's message belongs to. Null until the message is found. */
  contactId: string | null;
}

/** Receives the changes in the conversations of an account. The methods must not throw. */
export interface ChangeListener {
  /**
   * The conversation row with this id has changed. A row is what the list of conversations shows of one conversation.
   */
  rowChanged(id: string): void;
  /** A send was stored, or its status has changed. */
  sendChanged(notice: SendStatusNotice): void;
  /** The connection was interrupted, so changes may have been missed. */
  interrupted(): void;
}

/**
 * Reports changes of conversations as they happen. Changes are not stored: a change that happens before `follow` is
 * called is not reported.
 */
export interface ConversationChanges {
  /**
   * Starts to report the changes of an account to a listener. Every change that happens after the returned promise
   * has resolved is reported, unless the connection is interrupted: see {@link ChangeListener.interrupted}.
   * @returns a function that stops the reports; callers must call it exactly once
   */
  follow(account: string, listener: ChangeListener): Promise<() => void>;

  close(): Promise<void>;
}
