import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.js';
import { hasIncompleteField } from './fields.js';
import { focusLater } from './focus.js';
import { Failure } from './page.js';
import { ToastArea, useToasts } from './toasts.js';

interface DialogProps {
  title: string;
  /** True while the action of the dialog runs. The dialog then stays open. */
  isBusy?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/**
 * A dialog over the page. Escape and the button ✕ close the dialog. The focus then returns to where it was.
 */
export function Dialog({ title, isBusy = false, onClose, children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const isShown = useRef(true);
  const titleId = useId();
  // Opened in the same step as the rendering, so that the next key already goes to the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    const focusBefore = focusLater(document.activeElement);
    dialog?.showModal();
    return () => {
      isShown.current = false;
      // The dialog is closed first: while it is open, nothing outside it can take the focus.
      dialog?.close();
      focusBefore();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={titleId}
      // Chromium sends no `cancel` for a second Escape, so preventing `cancel` is not enough there.
      closedby={isBusy ? 'none' : 'closerequest'}
      onCancel={(event) => {
        if (isBusy) event.preventDefault();
      }}
      onClose={() => {
        if (isShown.current) onClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <Button look="quiet" label="Close" isBusy={isBusy} onClick={() => element.current?.close()}>
          ✕
        </Button>
      </header>
      {/* Messages appear in the dialog: outside it, they could not be read by screen readers or closed. */}
      <ToastArea>{children}</ToastArea>
    </dialog>
  );
}

interface ConfirmationProps {
  title: string;
  /** Says what the action does, and what cannot be undone. */
  children: ComponentChildren;
  /** Label of the button: the action as a verb, for example `Revoke the key`. */
  verb: string;
  /** Label of the button that closes the dialog. `Keep as it is` if absent. */
  cancel?: string;
  isDangerous?: boolean;
  /** If set, the button of the action is disabled, and its tooltip shows this reason. */
  disabledBecause?: string | undefined;
  /**
   * The action. It runs only if no field of the dialog is incomplete. If it rejects, the error is shown and the
   * dialog stays open.
   */
  action: () => Promise<unknown>;
  done?: string;
  onClose: () => void;
}

/** Asks the user to confirm an action, or to choose its details. */
export function Confirmation(props: ConfirmationProps): JSX.Element {
  const {
    title,
    children,
    verb,
    cancel = 'Keep as it is',
    isDangerous = false,
    action,
    done,
    onClose,
  } = props;
  const content = useRef<HTMLDivElement>(null);
  const toasts = useToasts();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (): Promise<void> => {
    if (content.current !== null && hasIncompleteField(content.current)) return;
    setBusy(true);
    setError(undefined);
    try {
      await action();
      if (done !== undefined) toasts.say(done);
      onClose();
    } catch (reason) {
      // The error is shown in the dialog, because the page outside cannot be used or read by screen readers while it
      // is open.
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} isBusy={isBusy} onClose={onClose}>
      <div ref={content} class="stack">
        {children}
        {error !== undefined && <Failure error={error} />}
      </div>
      <footer>
        <Button isBusy={isBusy} onClick={onClose}>
          {cancel}
        </Button>
        <Button
          look={isDangerous ? 'danger' : 'primary'}
          isBusy={isBusy}
          disabledBecause={props.disabledBecause}
          onClick={() => void run()}
        >
          {verb}
        </Button>
      </footer>
    </Dialog>
  );
}
