import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type uPlot from 'uplot';

/** One line of a plot. */
export interface PlotLine {
  label: string;
  /** One value per point in time. Null leaves a gap. */
  values: readonly (number | null)[];
  /** Number of the colour in the palette of the style sheet, from 1. */
  colour: 1 | 2 | 3;
}

interface PlotProps {
  /** What is shown, for screen readers, with its summary. */
  label: string;
  /** Points in time, in ISO 8601. */
  times: readonly string[];
  lines: readonly PlotLine[];
  /** Writes a value with its unit. */
  unit: (value: number) => string;
}

const HEIGHT = 120;
const HOURS = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/**
 * Values over time. The library is loaded when the first plot is shown. New values are drawn into the same plot: a plot
 * that was made again for each read would cost more, and would drop the cursor of the reader.
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
  // Read at each drawing, because the reader may choose other colours meanwhile.
  const colour = (name: string) => (): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    padding: [8, 8, 0, 0],
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 60,
        size: 24,
        values: (_, ticks) => ticks.map((tick) => HOURS.format(tick * 1000)),
      },
      { ...axis, size: 56, space: 30, values: (_, ticks) => ticks.map((tick) => unit(tick)) },
    ],
    scales: { y: { range: (_, __, max) => [0, Math.max(max, 1)] } },
    series: [
      {},
      ...lines.map(({ label, colour: number }) => ({
        label,
        stroke: colour(`--plot-${number}`),
        width: 2,
        spanGaps: false,
        points: { show: false },
      })),
    ],
  };
}
