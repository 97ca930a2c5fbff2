// Moves the map: applies gestures, flies from one position to another, and reports where the map comes to rest.
import { select } from 'd3-selection';
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from 'd3-zoom';
import {
  centerOf,
  centerOn,
  fitScale,
  flightAt,
  maxZoom,
  screenExtent,
  viewText,
  worldExtent,
  type Size,
} from './viewport';

type ZoomEvent = D3ZoomEvent<HTMLCanvasElement, unknown>;

const flightMilliseconds = 420;
const restMilliseconds = 250;

interface Options {
  /** Whether a gesture may move the map. */
  allows: (event: MouseEvent | TouchEvent) => boolean;
  /** Called after every movement, to draw the next frame. */
  onmove: () => void;
  /** Called with the view when the map has come to rest. */
  onrest: (view: string) => void;
}

export class Camera {
  /** How far the map is zoomed in; at 1 the whole world fits. */
  zoom = $state(1);

  // These change with every frame, so they are not reactive: the canvas follows them through onmove.
  transform: ZoomTransform = zoomIdentity;
  size: Size = { width: 0, height: 0 };

  /** The view that was reported last. The address that results from it must not move the map. */
  reported = '';

  #canvas: HTMLCanvasElement | undefined;
  #flight = 0;
  #resting: ReturnType<typeof setTimeout> | undefined;
  #startOfGesture: ZoomTransform = zoomIdentity;
  readonly #options: Options;
  readonly #behavior = zoom<HTMLCanvasElement, unknown>();

  constructor(options: Options) {
    this.#options = options;
    this.#behavior
      .clickDistance(4)
      .filter(options.allows)
      .on('start', (event: ZoomEvent) => {
        this.#startOfGesture = event.transform;
        if (event.sourceEvent) cancelAnimationFrame(this.#flight);
      })
      .on('zoom', (event: ZoomEvent) => {
        this.transform = event.transform;
        this.zoom = event.transform.k / fitScale(this.size);
        options.onmove();
      })
      .on('end', (event: ZoomEvent) => {
        if (event.sourceEvent && event.transform !== this.#startOfGesture) this.report(); // a click moves nothing
      });
  }

  /** Listens to gestures on a canvas. Returns the function that stops the camera. */
  attach(canvas: HTMLCanvasElement): () => void {
    this.#canvas = canvas;
    select(canvas).call(this.#behavior).on('dblclick.zoom', null);
    return () => {
      this.#canvas = undefined;
      cancelAnimationFrame(this.#flight);
      clearTimeout(this.#resting);
    };
  }

  /** Takes over the size of the screen and moves to a position, or keeps the center and the zoom. */
  resize(size: Size, position: () => ZoomTransform | 'keep'): void {
    const center = centerOf(this.size, this.transform);
    const { zoom } = this;
    this.size = size;
    this.#behavior
      .extent(screenExtent(size))
      .scaleExtent([fitScale(size), fitScale(size) * maxZoom])
      .translateExtent(worldExtent);
    const next = position();
    this.jumpTo(next === 'keep' ? centerOn(size, ...center, zoom * fitScale(size)) : next);
  }

  jumpTo(transform: ZoomTransform): void {
    if (this.#canvas) this.#behavior.transform(select(this.#canvas), transform);
  }

  /** Flies to a position, or jumps there if the reader prefers reduced motion. */
  flyTo(to: ZoomTransform, then?: () => void): void {
    cancelAnimationFrame(this.#flight);
    const from = this.transform;
    const start = performance.now();
    const length = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : flightMilliseconds;
    const step = (now: number) => {
      const time = length === 0 ? 1 : Math.min(1, Math.max(0, (now - start) / length));
      this.jumpTo(flightAt(this.size, from, to, time));
      if (time < 1) this.#flight = requestAnimationFrame(step);
      else then?.();
    };
    this.#flight = requestAnimationFrame(step);
  }

  /** Flies to a point of the plane and reports the new view. */
  flyToPoint(x: number, y: number, scale: number): void {
    this.flyTo(centerOn(this.size, x, y, scale), () => this.report());
  }

  zoomBy(factor: number): void {
    this.flyToPoint(...centerOf(this.size, this.transform), this.transform.k * factor);
  }

  /** Moves by pixels of the screen. */
  panBy(dx: number, dy: number): void {
    const { width, height } = this.size;
    const [x, y] = this.transform.invert([width / 2 + dx, height / 2 + dy]);
    cancelAnimationFrame(this.#flight);
    this.jumpTo(centerOn(this.size, x, y, this.transform.k));
    this.report();
  }

  /** Reports the view once the map has come to rest. */
  report(): void {
    clearTimeout(this.#resting);
    if (!this.#canvas) return; // the gesture ended after the page was left
    this.#resting = setTimeout(() => {
      const view = viewText(this.size, this.transform);
      if (view === '') return;
      this.reported = view;
      this.#options.onrest(view);
    }, restMilliseconds);
  }
}
