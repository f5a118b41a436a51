const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const DAY_OF_YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' });
const DAY_MS = 86_400_000;

/** Returns the name of the day of a time, in the user's zone. */
export function dayText(at: string | null): string {
  if (at === null) return 'Without a time';
  const now = new Date();
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return 'Without a time';
  const days = Math.round((startOfDay(now) - startOfDay(time)) / DAY_MS);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  if (days === -1) return 'Tomorrow';
  return (time.getFullYear() === now.getFullYear() ? DAY : DAY_OF_YEAR).format(time);
}

function startOfDay(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}
