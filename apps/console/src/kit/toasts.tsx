import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useContext, useMemo, useState } from 'preact/hooks';
import { errorText } from './text.js';
import { type Toast, withToast } from './toast-list.js';

/** Shows short messages about what was done. */
export interface Toasts {
  /** Shows that something is done. The message disappears by itself. */
  say: (text: string) => void;
  /**
   * Shows an error, until the user closes it.
   * @param about what the error is about, if the page does not show that
   */
  fail: (error: unknown, about?: string) => void;
}

const SHOWN_MS = 6_000;

const ToastsContext = createContext<Toasts>({ say: () => undefined, fail: () => undefined });

/** Returns the functions that show messages on the page, or in the dialog that contains the component. */
export function useToasts(): Toasts {
  return useContext(ToastsContext);
}

/** Shows the messages of its children, at the upper edge of the page. */
export function ToastArea({ children }: { children: ComponentChildren }): JSX.Element {
  const [shown, setShown] = useState<readonly Toast[]>([]);
  const toasts = useMemo<Toasts>(() => {
    let last = 0;
    const add = (toast: Omit<Toast, 'id'>): number => {
      last += 1;
      const id = last;
      setShown((before) => withToast(before, { ...toast, id }));
      return id;
    };
    const remove = (id: number): void => {
      setShown((before) => before.filter((toast) => toast.id !== id));
    };
    return {
      say: (text) => {
        const id = add({ text });
        setTimeout(() => {
          remove(id);
        }, SHOWN_MS);
      },
      fail: (error, about) => {
        const said = errorText(error);
        add({ text: about === undefined ? said.title : `${about}: ${said.title}`, error: said });
      },
    };
  }, []);
  return (
    <ToastsContext.Provider value={toasts}>
      {children}
      <div class="toasts" role="status" aria-live="polite">
        {shown.map(({ id, text, error }) => (
          <div key={id} class={error === undefined ? 'toast' : 'toast error'}>
            <div>
              <strong>{text}</strong>
              {error !== undefined && <p>{[error.detail, ...error.fields].join(' ')}</p>}
              {error?.requestId !== undefined && <p class="quiet">Request {error.requestId}</p>}
            </div>
            <button
              type="button"
              class="button quiet"
              aria-label="Close the message"
              onClick={() => {
                setShown((before) => before.filter((toast) => toast.id !== id));
              }}
            >
              ✕
            </button>
          </div>
        ))}
      </div>
    </ToastsContext.Provider>
  );
}
