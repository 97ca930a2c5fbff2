// How uPlot draws lines over time.
import uPlot from 'uplot';
import { dateTicks, dayIncrements, logTicks, timeRange, valueRange, valueTicks } from './axis';
import { colors } from './scheme.svelte';
import type { Line } from './series';

/**
 * What is drawn, and how. After the lines comes a series that continues the first one with what is not published yet, then,
 * if there is a band, its lower and its upper edge.
 */
export interface Look {
  lines: Line[];
  /** Whether there is a band around the first line. */
  banded: boolean;
  /** The seconds between two values. */
  step: number;
  logarithmic: boolean;
  format: (value: number) => string;
  width: number;
  height: number;
  /** Whether dragging chooses a part. */
  drags: boolean;
}

export interface Handlers {
  /** The pointer moved to a point, or left the chart. */
  point: (index: number | null) => void;
  /** A part was chosen by dragging: its ends in seconds. */
  select: (from: number, to: number) => void;
  /** Whether the pointer stays where it is, whatever the mouse does. */
  held: () => boolean;
  /** The plot was drawn, perhaps with another scale. */
  drawn: () => void;
}

const font = '12px "Inter Variable", sans-serif';
const fewPoints = 45; // of daily values are drawn as points too: there is nothing between them
const leastSelected = 6; // pixels
const leastTagged = 640; // pixels: a narrower chart has no room for values beside it

/** What a plot has to be made again for. Other data of the same lines is put into it. */
export const shapeOf = ({ lines, banded, step, logarithmic }: Omit<Look, 'format' | 'width' | 'height' | 'drags'>) =>
  JSON.stringify([lines.map((line) => [line.label, line.color, showsPoints(line, step)]), banded, step, logarithmic]);

const showsPoints = (line: Line, step: number) => line.times.length <= (step >= 86_400 ? fewPoints : 1);

export function optionsFor(look: Look, on: Handlers): uPlot.Options {
  const { lines, banded, step, logarithmic, format } = look;
  const start = performance.now();
  const tone = colors('muted', 'line', 'surface', ...lines.map((line) => line.color));
  const axis = {
    stroke: tone.muted,
    font,
    grid: { stroke: tone.line, width: 1 },
    ticks: { stroke: tone.line, width: 1 },
  };
  const colorOf = (series: number) => tone[(lines[series - 1] ?? lines[0])?.color ?? 'muted'];
  return {
    width: look.width,
    height: look.height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    legend: { show: false },
    padding: [12, (u) => (isTagged(u) ? tagSpace(u, look) : 20), 0, 0], // at least half of the last date
    scales: {
      x: { range: (u, min, max) => timeRange(u.data[0], min, max, step) },
      y: { distr: logarithmic ? 3 : 1, range: (_, min, max) => valueRange(min, max, logarithmic) },
    },
    cursor: {
      points: { size: 8, fill: (_, i) => colorOf(i), stroke: () => tone.surface, width: 2 },
      drag: { x: look.drags, y: false, setScale: false },
      focus: { prox: 24 },
      bind: {
        mousemove: (_, __, handler) => (event) => (on.held() && event.buttons === 0 ? null : handler(event)),
        mouseleave: (_, __, handler) => (event) => (on.held() ? null : handler(event)),
        // One double click resets the chart, of which uPlot knows a part only.
        dblclick: () => () => null,
      },
    },
    axes: [
      { ...axis, space: 70, values: dateTicks, ...(step >= 86_400 && { incrs: dayIncrements }) },
      {
        ...axis,
        size: (_, texts) => 20 + 7 * Math.max(3, ...(texts ?? []).map((text) => text.length)),
        values: (_, ticks) => valueTicks(ticks, format),
        ...(logarithmic && {
          splits: (_: uPlot, __: number, min: number, max: number) => logTicks(min, max),
          filter: (_: uPlot, ticks: number[]) => ticks,
        }),
      },
    ],
    series: [
      {},
      ...lines.map((line): uPlot.Series => ({
        label: line.label,
        stroke: tone[line.color],
        width: 1.75,
        spanGaps: false,
        points: { show: showsPoints(line, step), size: 5, fill: tone[line.color] },
        ...(lines.length === 1 && !banded && { fill: fade(tone[line.color]) }),
      })),
      { label: '', stroke: colorOf(1), width: 1.75, dash: [4, 4], points: { show: false } },
      ...(banded ? [edge, edge] : []),
    ],
    ...(banded && {
      bands: [{ series: [lines.length + 3, lines.length + 2] as uPlot.Band.Bounds, fill: shade(colorOf(1), 0.16) }],
    }),
    hooks: {
      ready: [
        () =>
          performance.measure('assay:chart', {
            start,
            end: performance.now(),
            detail: { points: Math.max(0, ...lines.map((line) => line.times.length)) },
          }),
      ],
      draw: [(u) => isTagged(u) && drawTags(u, look, tone), () => on.drawn()],
      setCursor: [(u) => on.point(u.cursor.idx ?? null)],
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          if (width < leastSelected) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          on.select(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
        },
      ],
    },
  };
}

const tagHeight = 18;

const isTagged = (u: uPlot) => u.width >= leastTagged;

/** The space that the longest tag needs. */
function tagSpace(u: uPlot, { lines, format }: Look): number {
  const lengths = lines
    .map((_, i) => newestOf(u.data[i + 1]!))
    .map((value) => (value === undefined ? 0 : format(value).length));
  return 20 + 7 * Math.max(3, ...lengths);
}

/** The newest value of a column. Lines need not end at the same instant. */
function newestOf(column: ArrayLike<number | null | undefined>): number | undefined {
  for (let i = column.length - 1; i >= 0; i--) if (column[i] != null) return column[i]!;
  return undefined;
}

/** Writes the newest value of each line beside its end. Tags that would cover each other are moved apart. */
function drawTags(u: uPlot, { lines, format }: Look, tone: Record<string, string>): void {
  const ratio = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  const tags = lines.flatMap((line, i) => {
    const value = newestOf(u.data[i + 1]!);
    return value === undefined
      ? []
      : [{ color: tone[line.color]!, text: format(value), y: u.valToPos(value, 'y', true) }];
  });
  tags.sort((a, b) => a.y - b.y);
  const high = tagHeight * ratio;
  let free = top;
  for (const tag of tags) free = (tag.y = Math.max(free, tag.y - high / 2)) + high;
  let lowest = top + height;
  for (const tag of tags.toReversed()) lowest = tag.y = Math.min(tag.y, lowest - high);
  const { ctx } = u;
  ctx.save();
  ctx.font = `600 ${12 * ratio}px "Inter Variable", sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  for (const { color, text, y } of tags) {
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.roundRect(
      left + width + 4 * ratio,
      y + ratio,
      ctx.measureText(text).width + 10 * ratio,
      high - 2 * ratio,
      4 * ratio,
    );
    ctx.fill();
    ctx.fillStyle = tone.surface!;
    ctx.fillText(text, left + width + 9 * ratio, y + high / 2);
  }
  ctx.restore();
}

/** The edges of a band have no line of their own. */
const edge: uPlot.Series = { label: '', width: 0, points: { show: false } };

/** A color of which something shines through. */
const shade = (color: string | undefined, alpha: number): string =>
  (color ?? '').replace('rgb(', 'rgba(').replace(')', `, ${alpha})`);

function fade(color: string): uPlot.Series.Fill {
  return (u) => {
    const gradient = u.ctx.createLinearGradient(0, u.bbox.top, 0, u.bbox.top + u.bbox.height);
    gradient.addColorStop(0, shade(color, 0.16));
    gradient.addColorStop(1, shade(color, 0));
    return gradient;
  };
}
