// What mouse and fingers do on a chart. A mouse points, drags a part to zoom in, clicks a point to keep it, and double-clicks
// to zoom out. A finger that moves sideways points, and up and down scrolls the page; a tap keeps a point; two fingers zoom.
import type uPlot from 'uplot';

export interface Gestures {
  /** A point was clicked or tapped: its index, and the height in the plot. */
  pick: (index: number, top: number) => void;
  /** A finger moves on: nothing is kept any more. */
  move: () => void;
  /** A part was chosen: its ends in seconds. */
  zoom: (from: number, to: number) => void;
  /** The reader wants to see everything again. */
  reset: () => void;
}

const least = 4; // pixels that a pointer moves before it drags

/** Listens to a plot as long as it exists. */
export function listen(plot: uPlot, on: Gestures): void {
  const { over } = plot;
  const fingers = new Map<number, number>(); // their distances from the left edge
  let held: { from: number; to: number } | undefined; // the instants that two fingers hold
  let pinched = false; // since the last finger was put down alone
  let down = 0;

  const leftOf = (event: PointerEvent) => event.clientX - over.getBoundingClientRect().left;

  function point(event: PointerEvent): void {
    const box = over.getBoundingClientRect();
    plot.setCursor({ left: event.clientX - box.left, top: event.clientY - box.top });
  }

  // Each finger stays on the instant that it was put on.
  function stretch(): void {
    const [a, b] = [...fingers.values()];
    if (a === undefined || b === undefined || !held || Math.abs(b - a) < 20) return;
    const perPixel = (held.to - held.from) / (b - a);
    if (perPixel <= 0) return; // the fingers have crossed
    const min = held.from - a * perPixel;
    plot.setScale('x', { min, max: min + over.clientWidth * perPixel });
  }

  over.addEventListener('pointerdown', (event) => {
    down = event.clientX;
    if (event.pointerType === 'mouse') return;
    if (fingers.size === 0) pinched = false;
    fingers.set(event.pointerId, leftOf(event));
    if (fingers.size === 1) point(event);
    if (fingers.size !== 2) return;
    const [a, b] = [...fingers.values()].map((left) => plot.posToVal(left, 'x'));
    held = { from: a!, to: b! };
    pinched = true;
  });

  over.addEventListener('pointermove', (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, leftOf(event));
    if (held) return stretch();
    if (pinched) return;
    on.move();
    point(event);
  });

  const lift = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId) || !held) return;
    held = undefined;
    const { min, max } = plot.scales.x!;
    if (event.type === 'pointerup' && min !== undefined && max !== undefined) on.zoom(min, max);
    else on.reset();
  };
  over.addEventListener('pointerup', lift);
  over.addEventListener('pointercancel', lift);

  over.addEventListener('click', (event) => {
    const { idx } = plot.cursor;
    if (pinched || Math.abs(event.clientX - down) >= least || idx === null || idx === undefined) return;
    on.pick(idx, plot.cursor.top ?? 0);
  });
  over.addEventListener('dblclick', on.reset);
}
