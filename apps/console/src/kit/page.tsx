import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.js';
import { errorText } from './text.js';

interface PageProps {
  title: string;
  /** Buttons beside the title, for the whole page. */
  actions?: ComponentChildren;
  /** Link back to the list, for the page of one object. */
  back?: { href: string; label: string };
  /** True if the page fills the height of the window, and its content scrolls inside. */
  isFull?: boolean;
  children: ComponentChildren;
}

/** A page with its title. A new page gets the focus on its title, so that screen readers read it. */
export function Page({ title, actions, back, isFull = false, children }: PageProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Tidings`;
  }, [title]);
  // In the same step as the rendering. If the focus were set later, a user who presses Tab at once would be taken
  // back to the title.
  useLayoutEffect(() => {
    // The first page of a visit leaves the focus at the start of the document, as browsers do.
    if (document.body.dataset.visited !== undefined) heading.current?.focus({ preventScroll: true });
    document.body.dataset.visited = '';
  }, []);
  return (
    <div class={isFull ? 'page full' : 'page'}>
      <header class="page-head">
        <div>
          {back !== undefined && (
            <a class="back" href={back.href}>
              ← {back.label}
            </a>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page with a title of its own. */
export function Section(props: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="section">
      <header class="section-head">
        <h2>{props.title}</h2>
        {props.actions !== undefined && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** Shown in place of a list without entries: why it is empty, and what to do next. */
export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <strong>{props.title}</strong>
      {props.children}
    </div>
  );
}

/** An error, shown in place of the data that could not be read. */
export function Failure({ error, retry }: { error: unknown; retry?: () => unknown }): JSX.Element {
  const { title, detail, fields, requestId } = errorText(error);
  return (
    <div class="notice bad" role="alert">
      <strong>{title}</strong>
      <p>{detail}</p>
      {fields.length > 0 && (
        <ul>
          {fields.map((field) => (
            <li key={field}>{field}</li>
          ))}
        </ul>
      )}
      {requestId !== undefined && <p class="quiet">Request {requestId}</p>}
      {retry !== undefined && <Button onClick={() => void retry()}>Try again</Button>}
    </div>
  );
}

/** The fields of a read that the console needs, as TanStack Query returns them. */
interface ReadState<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/**
 * Shows the data of a read, or a placeholder until the data arrive, or the error. If a later read fails, the old data
 * stay, and the error is shown above them.
 */
export function Loaded<T>(props: {
  of: ReadState<T>;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { data, error, refetch } = props.of;
  return (
    <>
      {error !== null && error !== undefined && <Failure error={error} retry={refetch} />}
      {data !== undefined ? props.children(data) : (error ?? undefined) === undefined && <Loading />}
    </>
  );
}

/** A placeholder while something is read. */
export function Loading(): JSX.Element {
  return (
    <div class="loading" role="status">
      Loading …
    </div>
  );
}

/** The end of a list: a button that loads further entries, or nothing if there are none. */
export function More(props: {
  hasMore: boolean;
  isLoading: boolean;
  onMore: () => unknown;
  label?: string;
}): JSX.Element | null {
  if (!props.hasMore) return null;
  return (
    <div class="more">
      <Button isBusy={props.isLoading} onClick={() => void props.onMore()}>
        {props.isLoading ? 'Loading …' : (props.label ?? 'Show more')}
      </Button>
    </div>
  );
}
