import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type uPlot from 'uplot';

/** One line of a plot. */
export interface PlotLine {
  label: string;
  /** One value per point in time. Null leaves a gap. */
  values: readonly (number | null)[];
  /** Number of the colour in the palette of the style sheet: 1 plain, 2 failures, 3 success, 4 for comparison. */
  colour: 1 | 2 | 3 | 4;
  /** Draws the line dashed, for a limit. */
  isLimit?: boolean;
}

interface PlotProps {
  /** Describes the plot for screen readers, with a summary. */
  label: string;
  /** Points in time, in ISO 8601. */
  times: readonly string[];
  lines: readonly PlotLine[];
  /** Writes a value with its unit. */
  unit: (value: number) => string;
}

const HEIGHT = 130;
const HOURS = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
/** Distances between the lines of the grid. Values are whole numbers, so a distance below 1 would repeat its label. */
const STEPS = [
  ...[1, 2, 5],
  ...[10, 100, 1_000, 10_000, 100_000, 1_000_000].flatMap((power) => [1, 2, 2.5, 5].map((n) => n * power)),
];

/** Returns the time of day without AM or PM, because a plot shows only an hour and has little space. */
function clockText(seconds: number): string {
  return HOURS.formatToParts(seconds * 1000)
    .filter(({ type }) => type === 'hour' || type === 'minute' || type === 'literal')
    .map(({ value }) => value)
    .join('')
    .trim();
}

/**
 * Values over time. The library is loaded when the first plot is shown. New values are drawn into the same plot: a
 * new plot for each read would cost more, and would lose the position of the user's cursor.
 */
export function Plot({ label, times, lines, unit }: PlotProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot>();
  const data = useMemo(() => dataOf(times, lines), [times, lines]);
  const latest = useRef(data);
  latest.current = data;
  const series = lines.map(({ label: name, colour }) => `${name} ${colour}`).join('\n');
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    let isGone = false;
    const resize = new ResizeObserver(() => {
      drawn.current?.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    void import('uplot').then(({ default: UPlot }) => {
      if (isGone) return;
      drawn.current = new UPlot(optionsOf(element, lines, unit), latest.current, element);
      resize.observe(element);
    });
    return () => {
      isGone = true;
      resize.disconnect();
      drawn.current?.destroy();
      drawn.current = undefined;
    };
  }, [series, unit]);
  useEffect(() => {
    drawn.current?.setData(data);
  }, [data]);
  return <div ref={host} class="plot" role="img" aria-label={label} />;
}

function dataOf(times: readonly string[], lines: readonly PlotLine[]): uPlot.AlignedData {
  return [
    times.map((time) => new Date(time).getTime() / 1000),
    ...lines.map(({ values }) => [...values]),
  ] as uPlot.AlignedData;
}

function optionsOf(
  element: HTMLElement,
  lines: readonly PlotLine[],
  unit: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element);
  // Read at each drawing, because the user may have chosen other colours.
  const colour = (name: string) => (): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${style.getPropertyValue('font-family')}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    padding: [8, 18, 0, 0],
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 60,
        size: 24,
        // A label at the left edge would be below the zero of the other axis.
        filter: (plot, ticks) => ticks.map((tick) => (plot.valToPos(tick, 'x') < 16 ? null : tick)),
        values: (_, ticks) => ticks.map((tick: number | null) => (tick === null ? '' : clockText(tick))),
      },
      {
        ...axis,
        size: 52,
        space: 24,
        incrs: STEPS,
        values: (_, ticks) => ticks.map((tick) => (tick === 0 ? '0' : unit(tick))),
      },
    ],
    scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.05, 1)] } },
    series: [
      {},
      ...lines.map(({ label, colour: number, isLimit = false }) => ({
        label,
        stroke: colour(`--plot-${number}`),
        width: isLimit ? 1 : 1.5,
        ...(isLimit ? { dash: [4, 4] } : {}),
        ...(number === 1 ? { fill: (): string => `${colour('--plot-1')()}1c` } : {}),
        spanGaps: false,
        points: { show: false },
      })),
    ],
  };
}
