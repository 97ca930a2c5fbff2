// The color scheme: the system's, or the reader's choice. Paper is always light.
import { flushSync } from 'svelte';

type Scheme = 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');
const state = $state({
  chosen: (document.documentElement.dataset.scheme ?? '') as Scheme | '',
  system: system.matches,
  printing: false,
});
system.addEventListener('change', (event) => (state.system = event.matches));

// What is printed is what is drawn when the event ends. Only then does the page get the style of paper, so a chart that is
// drawn again before that finds its colors by an attribute.
const print = (printing: boolean) => () => {
  document.documentElement.toggleAttribute('data-printing', printing);
  flushSync(() => (state.printing = printing));
};
addEventListener('beforeprint', print(true));
addEventListener('afterprint', print(false));

export const scheme = {
  get current(): Scheme {
    if (state.printing) return 'light';
    return state.chosen || (state.system ? 'dark' : 'light');
  },
  toggle(): void {
    const next: Scheme = this.current === 'dark' ? 'light' : 'dark';
    state.chosen = next;
    document.documentElement.dataset.scheme = next;
    try {
      localStorage.setItem('scheme', next);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  },
};

/** Resolves colors of the style sheet for a canvas. */
export function colors<const Names extends readonly string[]>(...names: Names): Record<Names[number], string> {
  const probe = document.body.appendChild(document.createElement('span'));
  const result = {} as Record<Names[number], string>;
  for (const name of names as readonly Names[number][]) {
    probe.style.color = `var(--${name})`;
    result[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return result;
}
