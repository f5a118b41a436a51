/*
 * The focus of a keyboard stays near where it was. The browser alone drops it to the document when the focused element
 * is removed, for example a button that is gone once it was pressed: a screen reader then begins at the top of the page.
 */

/** What can take the focus in place of an element that was inside it. */
const PARTS = 'section, dialog, [role=region]';

/** Returns a function that focuses the element, or if it was removed, what is left of the page around it. */
export function focusLater(element: Element | null): () => void {
  // Once it is removed, the element no longer knows where it was.
  const around = partsAround(element);
  return () => {
    const left = [element, ...around].find(
      (each) => each !== null && each.isConnected && each !== document.body,
    );
    focusPart(left ?? document.querySelector('main h1'));
  };
}

/** Keeps the focus on the page until the returned function is called. */
export function keepFocus(): () => void {
  let focused: Element | undefined;
  let restore = (): void => undefined;
  const onFocus = ({ target }: FocusEvent): void => {
    if (!(target instanceof Element)) return;
    focused = target;
    restore = focusLater(target);
  };
  const onBlur = ({ target }: FocusEvent): void => {
    // A reader who clicks beside everything wants the focus nowhere. A removed element is removed by then.
    queueMicrotask(() => {
      if (focused !== undefined && focused === target && focused.isConnected) focused = undefined;
    });
  };
  const observer = new MutationObserver(() => {
    if (document.activeElement !== document.body || focused === undefined || focused.isConnected) return;
    restore();
  });
  addEventListener('focusin', onFocus);
  addEventListener('focusout', onBlur);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    observer.disconnect();
    removeEventListener('focusin', onFocus);
    removeEventListener('focusout', onBlur);
  };
}

function partsAround(element: Element | null): Element[] {
  const part = element?.parentElement?.closest(PARTS) ?? null;
  return part === null ? [] : [part, ...partsAround(part)];
}

function focusPart(element: Element | null): void {
  if (!(element instanceof HTMLElement)) return;
  element.focus({ preventScroll: true });
  if (document.activeElement === element) return;
  // Only while it has the focus: otherwise a click on its text would focus it.
  element.tabIndex = -1;
  element.addEventListener(
    'blur',
    () => {
      element.removeAttribute('tabindex');
    },
    { once: true },
  );
  element.focus({ preventScroll: true });
}
