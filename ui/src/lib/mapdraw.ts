// Draws the map: the world, the sites and the circle, as they are at one moment.
import { short } from './format';
import type { Cluster } from './clusters';
import { graticule, sphere, type Box, type Outline, type Points } from './world';
import type { Site } from './sites';

/** How the plane of the world lies on the screen: pixels a unit, and where its corner is. */
export interface Lie {
  k: number;
  x: number;
  y: number;
}

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
  lie: Lie;
  colors: Record<(typeof mapColors)[number], string>;
  land: Outline[];
  points: Points | undefined;
  clusters: Cluster[];
  circle: Outline | null;
}

/** What was drawn for sites: where, how large, and what it stands for. */
export interface Mark {
  x: number;
  y: number;
  radius: number;
  cluster: Cluster;
}

/** Draws a scene; gives the marks that can be seen, the topmost last. */
export function draw(ctx: CanvasRenderingContext2D, scene: Scene): Mark[] {
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.fillStyle = scene.colors.sea;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  drawWorld(ctx, scene);
  if (scene.circle) drawCircle(ctx, scene, scene.circle);
  onScreen(ctx, scene);
  const marks = marksOf(scene);
  for (const mark of marks) {
    if (mark.cluster.count === 1) drawSite(ctx, mark, scene.points!.sites[mark.cluster.first]!, scene.colors);
    else drawCluster(ctx, mark, scene.colors);
  }
  if (scene.circle) drawEdge(ctx, scene, scene.circle);
  return marks;
}

/** The part of the plane that is seen. */
export function viewOf({ lie, width, height }: { lie: Lie; width: number; height: number }): Box {
  return {
    left: -lie.x / lie.k,
    top: -lie.y / lie.k,
    right: (width - lie.x) / lie.k,
    bottom: (height - lie.y) / lie.k,
  };
}

function onPlane(ctx: CanvasRenderingContext2D, { lie, ratio }: Scene): void {
  ctx.setTransform(ratio * lie.k, 0, 0, ratio * lie.k, ratio * lie.x, ratio * lie.y);
}

function onScreen(ctx: CanvasRenderingContext2D, { ratio }: Scene): void {
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function drawWorld(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const { lie, colors } = scene;
  const view = viewOf(scene);
  onPlane(ctx, scene);
  ctx.lineWidth = 0.6 / lie.k;
  ctx.strokeStyle = colors.line;
  // One line alone would look like a border.
  if (view.right - view.left > 300) ctx.stroke(graticule.path);
  ctx.stroke(sphere.path);
  ctx.fillStyle = colors.land;
  ctx.strokeStyle = colors['border-land'];
  ctx.lineWidth = 0.75 / lie.k;
  for (const outline of scene.land) {
    if (
      outline.right < view.left ||
      outline.left > view.right ||
      outline.bottom < view.top ||
      outline.top > view.bottom
    )
      continue;
    if ((outline.right - outline.left + outline.bottom - outline.top) * lie.k < 0.8) continue;
    ctx.fill(outline.path);
    ctx.stroke(outline.path);
  }
}

/** The circle lies under the sites, its edge over them. */
function drawCircle(ctx: CanvasRenderingContext2D, scene: Scene, circle: Outline): void {
  onPlane(ctx, scene);
  ctx.fillStyle = scene.colors['series-2'];
  ctx.globalAlpha = 0.14;
  ctx.fill(circle.path);
  ctx.globalAlpha = 1;
}

function drawEdge(ctx: CanvasRenderingContext2D, scene: Scene, circle: Outline): void {
  onPlane(ctx, scene);
  ctx.lineWidth = 1.75 / scene.lie.k;
  ctx.strokeStyle = scene.colors['series-2'];
  ctx.stroke(circle.path);
}

function marksOf({ clusters, lie, width, height }: Scene): Mark[] {
  const margin = 30;
  const marks: Mark[] = [];
  for (const cluster of clusters) {
    const x = cluster.x * lie.k + lie.x;
    const y = cluster.y * lie.k + lie.y;
    if (x < -margin || y < -margin || x > width + margin || y > height + margin) continue;
    marks.push({
      x,
      y,
      radius: cluster.count === 1 ? siteRadius(cluster.gpus) : 12 + 3 * Math.log10(cluster.count),
      cluster,
    });
  }
  return marks.sort((a, b) => b.radius - a.radius);
}

/** The area of a dot grows with the GPUs. */
const siteRadius = (gpus: number) => Math.min(12, 3.2 + Math.sqrt(gpus) / 24);

function disc(ctx: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
}

/** A site that runs is full, any other hollow: color alone would not tell everybody. */
function drawSite(
  ctx: CanvasRenderingContext2D,
  { x, y, radius }: Mark,
  site: Site,
  colors: Scene['colors'],
  color = colors.accent,
): void {
  const runs = site.status === 'operational';
  disc(ctx, x, y, radius);
  ctx.fillStyle = runs ? color : colors.surface;
  ctx.globalAlpha = 0.9;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.lineWidth = runs ? 1 : 2;
  ctx.strokeStyle = runs ? colors.surface : color;
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

/** Draws the site that is chosen over all others. */
export function drawChosen(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  site: Site,
  [planeX, planeY]: [number, number],
): void {
  onScreen(ctx, scene);
  const mark = {
    x: planeX * scene.lie.k + scene.lie.x,
    y: planeY * scene.lie.k + scene.lie.y,
    radius: siteRadius(site.gpu_qty) + 1,
  };
  ctx.fillStyle = scene.colors['series-2'];
  ctx.globalAlpha = 0.25;
  disc(ctx, mark.x, mark.y, mark.radius + 7);
  ctx.fill();
  ctx.globalAlpha = 1;
  drawSite(ctx, mark as Mark, site, scene.colors, scene.colors['series-2']);
}

/** Draws a ring around what is pointed at. */
export function drawPointed(ctx: CanvasRenderingContext2D, scene: Scene, mark: Mark): void {
  onScreen(ctx, scene);
  ctx.strokeStyle = scene.colors.text;
  ctx.lineWidth = 2;
  disc(ctx, mark.x, mark.y, mark.radius + 2);
  ctx.stroke();
}

/** Draws the cross in the middle that the keyboard points with. */
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

/** The mark nearest to a point of the screen, not farther than so many pixels from its edge. */
export function markAt(marks: Mark[], x: number, y: number, reach: number): Mark | null {
  let best: Mark | null = null;
  let nearest = reach;
  for (const mark of marks) {
    const away = Math.hypot(mark.x - x, mark.y - y) - mark.radius;
    if (away <= nearest) {
      best = mark;
      nearest = Math.max(away, 0);
    }
  }
  return best;
}
