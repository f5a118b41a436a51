import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { classes } from './text.js';
import { useToasts } from './toasts.js';

type Look = 'normal' | 'primary' | 'danger' | 'quiet';

interface ButtonProps {
  look?: Look;
  /** If set, the button is disabled, and its tooltip shows this reason. */
  disabledBecause?: string | undefined;
  onClick?: () => void;
  type?: 'button' | 'submit';
  isBusy?: boolean;
  /** For a button that switches something on and off: true while it is on. */
  isPressed?: boolean;
  /** Name for screen readers, if the content is only an icon. */
  label?: string;
  children: ComponentChildren;
}

/** A button. */
export function Button(props: ButtonProps): JSX.Element {
  const {
    look = 'normal',
    disabledBecause,
    onClick,
    type = 'button',
    isBusy = false,
    isPressed,
    label,
    children,
  } = props;
  const isOff = disabledBecause !== undefined || isBusy;
  return (
    <button
      type={type}
      class={classes('button', look)}
      aria-disabled={isOff}
      aria-busy={isBusy}
      aria-pressed={isPressed}
      aria-label={label}
      title={disabledBecause ?? label}
      onClick={(event) => {
        // A disabled button keeps the focus and can say why, so it is not disabled for the browser.
        if (isOff) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}

interface ActionProps extends Omit<ButtonProps, 'onClick' | 'isBusy' | 'isPressed' | 'type'> {
  /** The action. It does not start again while it runs. A rejection is shown as an error message. */
  action: () => Promise<unknown>;
  /** Message after success. */
  done?: string;
}

/** A button that runs an action, and shows its outcome. */
export function ActionButton({ action, done, ...rest }: ActionProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const toasts = useToasts();
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await action();
      if (done !== undefined) toasts.say(done);
    } catch (error) {
      toasts.fail(error);
    } finally {
      setBusy(false);
    }
  };
  return <Button {...rest} isBusy={isBusy} onClick={() => void run()} />;
}
