import type { Conversation } from '#client';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { PATH } from './use-conversations.js';

/**
 * Marks the messages up to the newest inbound message as seen, as soon as that message is visible and the page has
 * the focus.
 */
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
      // The stream then sends the row without unread messages. After a failure, the request is repeated when
      // the message becomes visible again, or the page gets the focus again.
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
