// What a reader has seen last, for the time in which the server allows no more requests. It lives as long as the tab, and
// belongs to one account.

const prefix = 'assay:last:';
const nameOf = (what: string) => prefix + what;

interface Kept<T> {
  owner: string;
  data: T;
}

/** Keeps data that an account has loaded; the owner is its email address, or empty without one. */
export function keep(what: string, owner: string, data: unknown): void {
  try {
    sessionStorage.setItem(nameOf(what), JSON.stringify({ owner, data }));
  } catch {
    // Without storage, or when it is full, nothing is kept.
  }
}

/** Returns what the same account has loaded last. */
export function kept<T>(what: string, owner: string): T | undefined {
  try {
    const found = JSON.parse(sessionStorage.getItem(nameOf(what)) ?? 'null') as Kept<T> | null;
    return found?.owner === owner ? found.data : undefined;
  } catch {
    return undefined;
  }
}

/** Forgets everything that was kept: the next reader at this screen may be another one. */
export function forget(): void {
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name);
  } catch {
    // Without storage, nothing was kept.
  }
}
