/** How much the cache may hold. */
export interface CacheLimits {
  /** How many responses: 256 unless given. */
  entries?: number | undefined;
  /** How many bytes their bodies may have together: 16 MiB unless given. */
  bytes?: number | undefined;
}

/** A response that can be used again as long as the server gives it the same tag. */
export interface StoredResponse {
  etag: string;
  text: string;
  bytes: number;
}

/** Keeps the responses that were used last, by URL. It belongs to one client, and so to one key. */
export class ResponseCache {
  readonly #entries: number;
  readonly #bytes: number;
  readonly #stored = new Map<string, StoredResponse>(); // the one that was used last is at the end
  #used = 0;

  constructor(limits: CacheLimits) {
    this.#entries = limits.entries ?? 256;
    this.#bytes = limits.bytes ?? 16 * 1024 * 1024;
  }

  get(url: string): StoredResponse | undefined {
    const found = this.#stored.get(url);
    if (found) {
      this.#stored.delete(url);
      this.#stored.set(url, found);
    }
    return found;
  }

  set(url: string, response: StoredResponse): void {
    this.delete(url);
    if (response.bytes > this.#bytes) return;
    this.#stored.set(url, response);
    this.#used += response.bytes;
    for (const oldest of this.#stored.keys()) {
      if (this.#stored.size <= this.#entries && this.#used <= this.#bytes) break;
      this.delete(oldest);
    }
  }

  delete(url: string): void {
    this.#used -= this.#stored.get(url)?.bytes ?? 0;
    this.#stored.delete(url);
  }
}
