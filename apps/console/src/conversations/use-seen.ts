import type { Conversation } from '#client';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { PATH } from './use-conversations.js';

/** Marks the messages up to the newest inbound one as seen, when it is visible and the reader is at the page. */
export function useSeen(
  { id, unreadCount }: Conversation,
  upTo: string | undefined,
  element: RefObject<HTMLElement>,
): void {
  const api = useApi();
  const marked = useRef<string>();
  const isUnread = unreadCount > 0;
  useEffect(() => {
    const target = element.current;
    if (target === null || upTo === undefined || !isUnread || marked.current === upTo) return;
    let isVisible = false;
    const mark = (): void => {
      if (!isVisible || !document.hasFocus() || document.visibilityState !== 'visible') return;
      if (marked.current === upTo) return;
      marked.current = upTo;
      // The row says that the messages are seen. After a failure, the next occasion marks them.
      api.change('POST', `${PATH}/${part(id)}/seen`, { upTo }).catch(() => {
        if (marked.current === upTo) marked.current = undefined;
      });
    };
    const observer = new IntersectionObserver((changes) => {
      isVisible = changes.at(-1)?.isIntersecting ?? false;
      mark();
    });
    observer.observe(target);
    addEventListener('focus', mark);
    document.addEventListener('visibilitychange', mark);
    return () => {
      observer.disconnect();
      removeEventListener('focus', mark);
      document.removeEventListener('visibilitychange', mark);
    };
  }, [id, upTo, isUnread]);
}
