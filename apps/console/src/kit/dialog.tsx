import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.js';
import { focusLater } from './focus.js';
import { Failure } from './page.js';
import { useToasts } from './toasts.js';

interface DialogProps {
  title: string;
  /** True while what was asked for is done: the dialog then stays open. */
  isBusy?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/** A dialog over the page. Escape and the button at its edge close it; the focus returns to where it was. */
export function Dialog({ title, isBusy = false, onClose, children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const isShown = useRef(true);
  const titleId = useId();
  // With the page below it: the next key is for the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    const focusBefore = focusLater(document.activeElement);
    dialog?.showModal();
    return () => {
      isShown.current = false;
      // While it is open, nothing beside it takes the focus.
      dialog?.close();
      focusBefore();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={titleId}
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
      {children}
    </dialog>
  );
}

interface ConfirmationProps {
  title: string;
  /** What happens, and what cannot be undone. */
  children: ComponentChildren;
  /** Label of the button: the action as a verb, for example `Revoke the key`. */
  verb: string;
  isDangerous?: boolean;
  /** A rejection is shown, and the dialog stays. */
  action: () => Promise<unknown>;
  done?: string;
  onClose: () => void;
}

/** Asks before something that cannot be taken back. */
export function Confirmation(props: ConfirmationProps): JSX.Element {
  const { title, children, verb, isDangerous = false, action, done, onClose } = props;
  const toasts = useToasts();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await action();
      if (done !== undefined) toasts.say(done);
      onClose();
    } catch (reason) {
      // In the dialog: what is beside it cannot be used or heard.
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} isBusy={isBusy} onClose={onClose}>
      <div class="stack">
        {children}
        {error !== undefined && <Failure error={error} />}
      </div>
      <footer>
        <Button isBusy={isBusy} onClick={onClose}>
          Keep as it is
        </Button>
        <Button look={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={() => void run()}>
          {verb}
        </Button>
      </footer>
    </Dialog>
  );
}
