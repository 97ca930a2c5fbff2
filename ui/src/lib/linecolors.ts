// The colors of lines. A color belongs to a series, not to a position: it stays when others are added or removed.
import { lineColors, type Color } from './series';

/** Gives colors to the series of one kind, and remembers them as long as the page is open. */
export function lineColorer(): (ids: readonly string[], known: readonly string[]) => Map<string, Color> {
  const held = new Map<string, Color>();
  return (ids, known) => {
    const given = new Map<string, Color>();
    const free = new Set(lineColors);
    const give = (id: string, color: Color) => {
      given.set(id, color);
      free.delete(color);
      held.set(id, color);
    };
    for (const id of ids) {
      const color = held.get(id);
      if (color && free.has(color)) give(id, color);
    }
    // Another series has its color first, or it has none yet: then the place among all known series decides.
    for (const id of ids) {
      if (given.has(id)) continue;
      const place = Math.max(0, known.indexOf(id)) % lineColors.length;
      const turned = [...lineColors.slice(place), ...lineColors.slice(0, place)];
      const color = turned.find((candidate) => free.has(candidate));
      if (color) give(id, color);
    }
    return given;
  };
}
