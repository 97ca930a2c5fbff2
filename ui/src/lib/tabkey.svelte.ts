// The key that snippets and the try-it form use: created or pasted in this tab. It is held in memory only, so it is gone
// when the tab is closed or reloaded.

const state = $state({ typed: '' });

// Only text of this form gets into a snippet or a header.
const isKey = (text: string): boolean => /^sk_(prem|live)_[0-9A-Za-z]+_[0-9A-Za-z]+$/.test(text);

export const tabKey = {
  /** The key; empty while it is incomplete. */
  get text() {
    return isKey(state.typed) ? state.typed : '';
  },
  set text(text: string) {
    state.typed = text.trim();
  },
  /** The text that was pasted, complete or not. */
  get typed() {
    return state.typed;
  },
};
