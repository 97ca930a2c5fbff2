import { save } from './download';
import { provenance } from './provenance.svelte';
import { colors } from './scheme.svelte';

/** Saves a chart as a PNG with its title and legend, and below it where the figures come from. */
export function savePicture(
  file: string,
  source: HTMLCanvasElement,
  title: string,
  legend: { label: string; color: string }[],
  notes: string[],
): void {
  const about = ['Assay', ...notes, ...(provenance.synthetic ? ['synthetic data: not market prices'] : [])];
  const foot = [about.join(' · '), location.href];
  const ratio = devicePixelRatio;
  const width = source.width / ratio;
  const canvas = document.createElement('canvas');
  const ctx = canvas.getContext('2d')!;
  const small = '12px "Inter Variable", sans-serif';

  // The legend wraps like text.
  ctx.font = small;
  let x = 12;
  let y = 42;
  const entries = legend.map(({ label, color }) => {
    const entryWidth = 34 + ctx.measureText(label).width;
    if (x > 12 && x + entryWidth > width) {
      x = 12;
      y += 18;
    }
    const entry = { label, color, x, y };
    x += entryWidth;
    return entry;
  });
  const head = Math.round((y + 14) * ratio);

  canvas.width = source.width;
  const footAt = head + source.height;
  canvas.height = footAt + Math.round((12 + 16 * foot.length) * ratio);
  const tone: Record<string, string> = colors('surface', 'text', 'muted', ...legend.map((entry) => entry.color));
  ctx.fillStyle = tone.surface!;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = tone.text!;
  ctx.font = '600 15px "Inter Variable", sans-serif';
  ctx.fillText(title, 12, 22, width - 24);
  ctx.font = small;
  for (const entry of entries) {
    ctx.fillStyle = tone[entry.color]!;
    ctx.fillRect(entry.x, entry.y - 6, 12, 4);
    ctx.fillStyle = tone.text!;
    ctx.fillText(entry.label, entry.x + 18, entry.y);
  }
  ctx.fillStyle = tone.muted!;
  foot.forEach((line, i) => ctx.fillText(line, 12, footAt / ratio + 16 * (i + 1), width - 24));
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.drawImage(source, 0, head);
  canvas.toBlob((blob) => blob && save(file, blob));
}
