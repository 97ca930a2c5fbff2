import { expect, test } from 'vitest';
import { lineColorer } from './linecolors';

const known = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const shown = (colors: Map<string, string>) => Object.fromEntries(colors);

test('a series has the color of its place among all', () => {
  const colorsOf = lineColorer();
  expect(shown(colorsOf(['c'], known))).toEqual({ c: 'series-3' });
  expect(shown(lineColorer()(['c'], known))).toEqual({ c: 'series-3' });
});

test('two series with the same color get different ones, and keep them', () => {
  const colorsOf = lineColorer();
  expect(shown(colorsOf(['a', 'g'], known))).toEqual({ a: 'series-1', g: 'series-2' });
  expect(shown(colorsOf(['g'], known))).toEqual({ g: 'series-2' });
  expect(shown(colorsOf(['b', 'g'], known))).toEqual({ b: 'series-3', g: 'series-2' });
});

test('six series have six colors', () => {
  const colors = lineColorer()(['h', 'g', 'c', 'b', 'a', 'f'], known);
  expect(new Set(colors.values()).size).toBe(6);
});
