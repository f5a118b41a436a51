import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { None } from './table.js';
import { durationText } from './text.js';

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const SAME_DAY = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** Name of the setting that shows exact times everywhere. */
const SETTING = 'tidings.console.exact-times';
const listeners = new Set<() => void>();
let isExact = localStorage.getItem(SETTING) === 'yes';

/** Switches between relative and exact times on the whole page. Returns true if times are now exact. */
export function toggleExactTimes(): boolean {
  isExact = !isExact;
  localStorage.setItem(SETTING, isExact ? 'yes' : 'no');
  for (const listener of listeners) listener();
  return isExact;
}

/** Returns true if times are exact on the whole page, and renders again when that changes. */
export function useExactTimes(): boolean {
  const [, tick] = useState(0);
  useEffect(() => {
    const again = (): void => {
      tick((count) => count + 1);
    };
    listeners.add(again);
    return () => {
      listeners.delete(again);
    };
  }, []);
  return isExact;
}

/** Renders again every `everyMs`, and when the setting of exact times changes. */
function useClock(everyMs: number): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const again = (): void => {
      tick((count) => count + 1);
    };
    listeners.add(again);
    const timer = setInterval(again, everyMs);
    return () => {
      listeners.delete(again);
      clearInterval(timer);
    };
  }, [everyMs]);
}

/** Time between two checks whether a new day has begun, in milliseconds. */
const DAY_CHECK_MS = 15_000;

/** Returns the current day in the user's time zone, and renders again when the next day begins. */
export function useToday(): string {
  const [today, setToday] = useState(dayOfNow);
  useEffect(() => {
    const timer = setInterval(() => {
      setToday(dayOfNow());
    }, DAY_CHECK_MS);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return today;
}

function dayOfNow(): string {
  return new Date().toDateString();
}

interface TimeProps {
  at: string | null | undefined;
  /** Shown if there is no time. */
  none?: string;
  /**
   * Always shows the exact time or the time of day. For lists in which the order and the distance of times matter.
   */
  always?: 'exact' | 'clock';
}

/** A point in time: how far away it is, for example `5 min ago`, or the exact time. The title has the exact time. */
export function Time({ at, none = '–', always }: TimeProps): JSX.Element {
  useClock(15_000);
  if (at === null || at === undefined) return none === '–' ? <None /> : <span class="quiet">{none}</span>;
  const time = new Date(at);
  // The messaging service may send any text as a time.
  if (Number.isNaN(time.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={EXACT.format(time)}>
      {always === 'clock'
        ? CLOCK.format(time)
        : isExact || always === 'exact'
          ? exactText(time)
          : relativeText(time.getTime() - Date.now())}
    </time>
  );
}

/** Returns a point in time in the user's time zone, without the date if it is today. */
export function exactText(time: Date): string {
  return time.toDateString() === dayOfNow() ? SAME_DAY.format(time) : EXACT.format(time);
}

function relativeText(fromNowMs: number): string {
  const ms = Math.abs(fromNowMs);
  if (ms < 2_000) return fromNowMs < 0 ? 'just now' : 'now';
  const text = durationText(Math.round(ms / 1_000) * 1_000);
  return fromNowMs < 0 ? `${text} ago` : `in ${text}`;
}

/**
 * The time at which something is due. Shows `now` once the time has come, because the thing is then done as soon as
 * possible.
 */
export function DueTime({ at }: { at: string | null }): JSX.Element {
  if (at !== null && Date.parse(at) <= Date.now()) return <span title={EXACT.format(new Date(at))}>now</span>;
  return <Time at={at} />;
}

/** Remaining time until a point in time, counted down every second. */
export function Countdown({ until, over }: { until: string; over: string }): JSX.Element {
  useClock(1_000);
  const leftMs = new Date(until).getTime() - Date.now();
  return <span title={EXACT.format(new Date(until))}>{leftMs <= 0 ? over : clockText(leftMs)}</span>;
}

/** Returns a duration as clocks show it, for example `1:59:07`, with the days before it. */
function clockText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3_600) % 24;
  const two = (value: number): string => String(value % 60).padStart(2, '0');
  const inHour = `${two(Math.floor(seconds / 60))}:${two(seconds)}`;
  if (days > 0) return `${days} d ${hours}:${inHour}`;
  return hours > 0 ? `${hours}:${inHour}` : inHour;
}
