import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { ActionButton, Button } from './button.js';
import { focusLater } from './focus.js';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A dialog over the page. Escape and the button at its edge close it; the focus returns to where it was. */
export function Dialog({ title, onClose, children }: DialogProps): JSX.Element {
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
      onClose={() => {
        if (isShown.current) onClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <Button look="quiet" label="Close" onClick={() => element.current?.close()}>
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
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">{children}</div>
      <footer>
        <Button onClick={onClose}>Keep as it is</Button>
        <ActionButton
          look={isDangerous ? 'danger' : 'primary'}
          {...(done === undefined ? {} : { done })}
          action={async () => {
            await action();
            onClose();
          }}
        >
          {verb}
        </ActionButton>
      </footer>
    </Dialog>
  );
}
