// The land of the map: coarse first, and fine once the reader zooms in.
import { readLand, type Outline } from './outlines';

const fineFrom = 3;

export class Land {
  /** Whether the land could not be loaded. The sites are shown anyway. */
  failed = $state(false);
  #coarse = $state.raw<Outline[]>([]);
  #fine = $state.raw<Outline[] | null>(null);
  #fineRequested = false;

  async load(): Promise<void> {
    this.failed = false;
    try {
      this.#coarse = await readLand('coarse');
    } catch {
      this.failed = true;
    }
  }

  /** Loads the fine land when a zoom needs it. If that fails, the coarse land stays. */
  async loadFor(zoom: number): Promise<void> {
    if (zoom < fineFrom || this.#fineRequested) return;
    this.#fineRequested = true;
    try {
      this.#fine = await readLand('fine');
    } catch {
      this.#fineRequested = false;
    }
  }

  /** The outlines to draw at a zoom. */
  at(zoom: number): Outline[] {
    return this.#fine && zoom >= fineFrom ? this.#fine : this.#coarse;
  }
}
