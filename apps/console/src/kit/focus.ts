/*
 * When the focused element is removed, for example a button that disappears when it is pressed, browsers move the
 * focus to the document. A screen reader then starts again at the top of the page. This module moves the focus to what
 * is left of the page around the removed element.
 */

/** The elements that can take the focus in place of a removed element inside them. */
const PARTS = 'section, dialog, [role=region]';

/**
 * Returns a function that focuses the element. If the element was removed by then, the function focuses what is left
 * of the page around it.
 */
export function focusLater(element: Element | null): () => void {
  // Determined now, because a removed element no longer has a parent.
  const around = partsAround(element);
  return () => {
    const left = [element, ...around].find(
      (each) => each !== null && each.isConnected && each !== document.body,
    );
    focusPart(left ?? document.querySelector('main h1'));
  };
}

/** Until the returned function is called, moves the focus back to the page when the focused element is removed. */
export function keepFocus(): () => void {
  let focused: Element | undefined;
  let restore = (): void => undefined;
  const onFocus = ({ target }: FocusEvent): void => {
    if (!(target instanceof Element)) return;
    focused = target;
    restore = focusLater(target);
  };
  const onBlur = ({ target }: FocusEvent): void => {
    // If the focused element still exists, the user has clicked outside all elements, and the focus may be nowhere.
    // An element that is being removed is gone when this function runs.
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
  // Only now is the element made focusable. If it always were, a click on its text would focus it.
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
