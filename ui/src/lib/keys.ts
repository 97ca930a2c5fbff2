// Keys that work on every page. A single character does so only where nothing is typed, and can be turned off (WCAG 2.1.4).

/** What a key asks for: the palette, the filter of the page, the list of keys, or the nth range of the chart. */
export type Command = 'palette' | 'filter' | 'keys' | { range: number };

/** What is read of a key press. */
export type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'repeat' | 'isComposing'>;

/** Where it happens. */
export interface Place {
  /** Whether a field has the focus, so that characters are typed into it. */
  typing: boolean;
  /** Whether a dialog is open, so that the page behind it must not change. */
  dialog: boolean;
  /** Whether single characters are turned on. */
  characters: boolean;
  mac: boolean;
}

/** The command of a key press, if it has one. */
export function commandOf(press: Press, place: Place): Command | undefined {
  if (press.repeat || press.isComposing || press.altKey || place.dialog) return undefined;
  // On a Mac, Ctrl-K deletes to the end of the line.
  const [wanted, other] = place.mac ? [press.metaKey, press.ctrlKey] : [press.ctrlKey, press.metaKey];
  if (wanted && !other && press.key.toLowerCase() === 'k') return 'palette';
  if (press.ctrlKey || press.metaKey || place.typing || !place.characters) return undefined;
  if (press.key === '/') return 'filter';
  if (press.key === '?') return 'keys';
  return /^[1-9]$/.test(press.key) ? { range: Number(press.key) } : undefined;
}

const typed = 'input, textarea, select, [contenteditable]';
const notTyped = ['button', 'checkbox', 'radio', 'range', 'submit', 'reset', 'file', 'color'];

/** Whether characters go into an element. */
export function isField(element: Element | null): boolean {
  if (!element?.matches(typed)) return false;
  return !(element instanceof HTMLInputElement && notTyped.includes(element.type));
}

/** Whether the reader's keyboard is that of a Mac. */
export const isMac = (): boolean => /^(Mac|iP)/.test(navigator.platform);

/** The key that opens the palette, as it is printed on the keyboard. */
export const paletteKey = (): string => (isMac() ? '⌘ K' : 'Ctrl K');

const stored = 'assay.keys';

/** Whether single characters are turned on. They are, until the reader turns them off in this browser. */
export function charactersOn(): boolean {
  try {
    return localStorage.getItem(stored) !== 'off';
  } catch {
    return true;
  }
}

export function turnCharacters(on: boolean): void {
  try {
    if (on) localStorage.removeItem(stored);
    else localStorage.setItem(stored, 'off');
  } catch {
    // Without storage they stay on.
  }
}

/** The command of a key press in the page that is open. */
export const commandHere = (event: KeyboardEvent): Command | undefined =>
  event.defaultPrevented
    ? undefined
    : commandOf(event, {
        typing: event.target instanceof Element && isField(event.target),
        dialog: document.querySelector('dialog[open]') !== null,
        characters: charactersOn(),
        mac: isMac(),
      });

const isSeen = (element: HTMLElement) => element.getClientRects().length > 0;
const firstSeen = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)].find(isSeen);

/** Presses the nth button of the page's ranges, which carry the attribute data-keys. Tells whether there is one. */
export function chooseRange(position: number): boolean {
  const button = firstSeen('main [data-keys]')?.querySelectorAll('button')[position - 1];
  button?.click();
  return button !== undefined;
}

/** Focuses the filter of the page. Tells whether it has one. */
export function focusFilter(): boolean {
  const field = firstSeen('main input[type="search"]');
  field?.focus();
  return field !== undefined;
}
