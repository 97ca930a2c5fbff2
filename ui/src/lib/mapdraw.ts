// Draws one frame of the map: the world, the sites and the circle.
import { short } from './format';
import type { Cluster } from './clusters';
import { marksOf, siteRadius, type Mark, type Transform } from './marks';
import { graticule, sphere, type Outline } from './outlines';
import { project, type Points } from './plane';
import type { Site } from './sites';
import { visibleBox } from './viewport';

export const mapColors = [
  'land',
  'border-land',
  'sea',
  'line',
  'surface',
  'accent',
  'on-accent',
  'series-2',
  'text',
] as const;

export interface Scene {
  width: number;
  height: number;
  ratio: number;
  transform: Transform;
  colors: Record<(typeof mapColors)[number], string>;
  land: Outline[];
  points: Points | undefined;
  clusters: Cluster[];
  circle: Outline | null;
}

/** Draws a scene and returns its marks, the topmost last. */
export function draw(ctx: CanvasRenderingContext2D, scene: Scene): Mark[] {
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.fillStyle = scene.colors.sea;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  drawWorld(ctx, scene);
  if (scene.circle) drawCircle(ctx, scene, scene.circle);
  onScreen(ctx, scene);
  const marks = marksOf(scene.clusters, scene.transform, scene);
  for (const mark of marks) {
    if (mark.cluster.count === 1) drawSite(ctx, mark, scene.points!.sites[mark.cluster.first]!, scene.colors);
    else drawCluster(ctx, mark, scene.colors);
  }
  if (scene.circle) drawEdge(ctx, scene, scene.circle);
  return marks;
}

function onPlane(ctx: CanvasRenderingContext2D, { transform, ratio }: Scene): void {
  ctx.setTransform(ratio * transform.k, 0, 0, ratio * transform.k, ratio * transform.x, ratio * transform.y);
}

function onScreen(ctx: CanvasRenderingContext2D, { ratio }: Scene): void {
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function drawWorld(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const { transform, colors } = scene;
  const view = visibleBox(scene, scene.transform);
  onPlane(ctx, scene);
  ctx.lineWidth = 0.6 / transform.k;
  ctx.strokeStyle = colors.line;
  // One line alone would look like a border.
  if (view.right - view.left > 300) ctx.stroke(graticule.path);
  ctx.stroke(sphere.path);
  ctx.fillStyle = colors.land;
  ctx.strokeStyle = colors['border-land'];
  ctx.lineWidth = 0.75 / transform.k;
  for (const outline of scene.land) {
    if (
      outline.right < view.left ||
      outline.left > view.right ||
      outline.bottom < view.top ||
      outline.top > view.bottom
    )
      continue;
    if ((outline.right - outline.left + outline.bottom - outline.top) * transform.k < 0.8) continue;
    ctx.fill(outline.path);
    ctx.stroke(outline.path);
  }
}

/** The circle is drawn under the sites, its edge over them. */
function drawCircle(ctx: CanvasRenderingContext2D, scene: Scene, circle: Outline): void {
  onPlane(ctx, scene);
  ctx.fillStyle = scene.colors['series-2'];
  ctx.globalAlpha = 0.14;
  ctx.fill(circle.path);
  ctx.globalAlpha = 1;
}

function drawEdge(ctx: CanvasRenderingContext2D, scene: Scene, circle: Outline): void {
  onPlane(ctx, scene);
  ctx.lineWidth = 1.75 / scene.transform.k;
  ctx.strokeStyle = scene.colors['series-2'];
  ctx.stroke(circle.path);
}

function disc(ctx: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
}

type Dot = Pick<Mark, 'x' | 'y' | 'radius'>;

/** An operational site is filled, any other is hollow: color alone would not tell all readers. */
function drawSite(
  ctx: CanvasRenderingContext2D,
  { x, y, radius }: Dot,
  site: Site,
  colors: Scene['colors'],
  color = colors.accent,
): void {
  const operational = site.status === 'operational';
  disc(ctx, x, y, radius);
  ctx.fillStyle = operational ? color : colors.surface;
  ctx.globalAlpha = 0.9;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.lineWidth = operational ? 1 : 2;
  ctx.strokeStyle = operational ? colors.surface : color;
  ctx.stroke();
}

function drawCluster(ctx: CanvasRenderingContext2D, { x, y, radius, cluster }: Mark, colors: Scene['colors']): void {
  ctx.fillStyle = colors.accent;
  ctx.globalAlpha = 0.22;
  disc(ctx, x, y, radius + 4);
  ctx.fill();
  ctx.globalAlpha = 1;
  disc(ctx, x, y, radius);
  ctx.fill();
  ctx.fillStyle = colors['on-accent'];
  ctx.font = '600 11px "Inter Variable", sans-serif';
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.fillText(short(cluster.count), x, y + 0.5);
}

/** Draws the selected site over all others. */
export function drawSelected(ctx: CanvasRenderingContext2D, scene: Scene, site: Site): void {
  onScreen(ctx, scene);
  const { k, x, y } = scene.transform;
  const [planeX, planeY] = project(site);
  const dot = { x: planeX * k + x, y: planeY * k + y, radius: siteRadius(site.gpu_qty) + 1 };
  ctx.fillStyle = scene.colors['series-2'];
  ctx.globalAlpha = 0.25;
  disc(ctx, dot.x, dot.y, dot.radius + 7);
  ctx.fill();
  ctx.globalAlpha = 1;
  drawSite(ctx, dot, site, scene.colors, scene.colors['series-2']);
}

/** Draws a ring around the mark that is pointed at. */
export function drawHighlight(ctx: CanvasRenderingContext2D, scene: Scene, mark: Mark): void {
  onScreen(ctx, scene);
  ctx.strokeStyle = scene.colors.text;
  ctx.lineWidth = 2;
  disc(ctx, mark.x, mark.y, mark.radius + 2);
  ctx.stroke();
}

/** Draws the cross in the center that the keyboard points with. */
export function drawCross(ctx: CanvasRenderingContext2D, scene: Scene): void {
  onScreen(ctx, scene);
  const [x, y] = [scene.width / 2, scene.height / 2];
  ctx.strokeStyle = scene.colors.text;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [dx, dy] of [
    [1, 0],
    [-1, 0],
    [0, 1],
    [0, -1],
  ] as const) {
    ctx.moveTo(x + dx * 4, y + dy * 4);
    ctx.lineTo(x + dx * 12, y + dy * 12);
  }
  ctx.stroke();
}
