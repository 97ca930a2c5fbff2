import { save } from './download';
import { colors } from './scheme.svelte';

/** Saves a drawn chart as a picture, with its head and the names of what is drawn. */
export function savePicture(
  file: string,
  source: HTMLCanvasElement,
  title: string,
  legend: { label: string; color: string }[],
): void {
  const ratio = devicePixelRatio;
  const width = source.width / ratio;
  const canvas = document.createElement('canvas');
  const ctx = canvas.getContext('2d')!;
  const small = '12px "Inter Variable", sans-serif';

  // Where each name stands: as many in a row as there is room for.
  ctx.font = small;
  let x = 12;
  let y = 42;
  const places = legend.map(({ label, color }) => {
    const wide = 34 + ctx.measureText(label).width;
    if (x > 12 && x + wide > width) {
      x = 12;
      y += 18;
    }
    const place = { label, color, x, y };
    x += wide;
    return place;
  });
  const head = Math.round((y + 14) * ratio);

  canvas.width = source.width;
  canvas.height = source.height + head;
  const tone: Record<string, string> = colors('surface', 'text', ...legend.map((entry) => entry.color));
  ctx.fillStyle = tone.surface!;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = tone.text!;
  ctx.font = '600 15px "Inter Variable", sans-serif';
  ctx.fillText(title, 12, 22, width - 24);
  ctx.font = small;
  for (const place of places) {
    ctx.fillStyle = tone[place.color]!;
    ctx.fillRect(place.x, place.y - 6, 12, 4);
    ctx.fillStyle = tone.text!;
    ctx.fillText(place.label, place.x + 18, place.y);
  }
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.drawImage(source, 0, head);
  canvas.toBlob((blob) => blob && save(file, blob));
}
