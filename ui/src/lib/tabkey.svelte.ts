// The key that the snippets and the try-it form carry: one that was made or pasted in this tab. It is in memory alone, so
// it is gone when the tab is closed or loaded anew.

const state = $state({ typed: '' });

// Only a text of this form is put into a snippet or a header.
const isKey = (text: string): boolean => /^sk_(prem|live)_[0-9A-Za-z]+_[0-9A-Za-z]+$/.test(text);

export const tabKey = {
  /** The key, or nothing while there is no whole one. */
  get text() {
    return isKey(state.typed) ? state.typed : '';
  },
  set text(text: string) {
    state.typed = text.trim();
  },
  /** What was pasted, whole or not. */
  get typed() {
    return state.typed;
  },
};
