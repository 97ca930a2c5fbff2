// The plots of the page that is open, for the link that skips to the first one.
import { SvelteSet } from 'svelte/reactivity';

const shown = new SvelteSet<HTMLElement>();

/** Registers a plot for as long as it is on the page. */
export function isPlot(figure: HTMLElement): () => void {
  shown.add(figure);
  return () => shown.delete(figure);
}

export const plots = {
  get any(): boolean {
    return shown.size > 0;
  },
};

/** Focuses the slider of the first plot; a plot without one has only its table. */
export function toChart(): void {
  const figure =
    document.querySelector<HTMLElement>('main figure:has(.slider)') ?? document.querySelector('main figure');
  const target = figure?.querySelector<HTMLElement>('.slider') ?? figure?.querySelector('summary');
  figure?.scrollIntoView({ block: 'center' });
  target?.focus({ preventScroll: true });
}
