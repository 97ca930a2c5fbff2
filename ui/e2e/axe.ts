import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type Page } from '@playwright/test';

/** The text of axe, to be evaluated in a page before violations are looked for. */
export const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

// axe describes every element that it has looked at, which takes about a fifth of its time. Of these the tests read only
// the violations.
const wanted = { resultTypes: ['violations'] };

/** Lists what axe finds wrong on a page. */
export async function violations(page: Page, ...rules: string[]): Promise<string[]> {
  const found = await page.evaluate(
    async (options) =>
      (
        await (window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe.run(
          options,
        )
      ).violations,
    rules.length > 0 ? { ...wanted, runOnly: rules } : wanted,
  );
  return found.map(
    (violation) =>
      `${violation.id}: ${violation.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join('; ')}`,
  );
}

/** Checks a page in the light scheme, and its colors again after the reader switches to the dark one. */
export async function wantNoViolation(page: Page): Promise<void> {
  await setScheme(page, 'light');
  await page.evaluate(axe);
  expect(await violations(page)).toEqual([]);
  await setScheme(page, 'dark');
  expect(await violations(page, 'color-contrast', 'link-in-text-block')).toEqual([]);
}

/** Changes the color scheme, and waits for the colors, which change gradually. */
async function setScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  // An animation that is canceled never finishes.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished)));
}
