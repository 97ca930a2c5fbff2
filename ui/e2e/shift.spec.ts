import type { Page } from '@playwright/test';
import { expect, open, pages, test } from './test';

// What moves while a page loads is lost for a reader who was about to press it. The limit is that of Core Web Vitals for a
// good page, halved.
const most = 0.05;

/** Slows the network down as far as a bad connection of a phone, so that every request arrives on its own. */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 120,
    downloadThroughput: 250_000,
    uploadThroughput: 100_000,
  });
}

/** Adds up how far the elements of the next page move without the reader's doing, and lists those that do. */
async function observe(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const shifts: string[] = [];
    const found = { sum: 0, shifts };
    Object.assign(window, { found });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & {
        value: number;
        hadRecentInput: boolean;
        sources: { node?: Node; previousRect: DOMRect; currentRect: DOMRect }[];
      })[]) {
        if (entry.hadRecentInput) continue;
        found.sum += entry.value;
        const moved = entry.sources.map(({ node, previousRect: from, currentRect: to }) => {
          const element = node instanceof Element ? node : node?.parentElement;
          const name = `${element?.tagName.toLowerCase()}.${element?.className}`;
          return `${name} from y ${from.y} h ${from.height} to y ${to.y} h ${to.height}`;
        });
        shifts.push(`${entry.value.toFixed(3)}: ${moved.join('; ')}`);
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
}

const shiftsOf = (page: Page) =>
  page.evaluate(() => (window as unknown as { found: { sum: number; shifts: string[] } }).found);

for (const width of [1440, 1280, 390]) {
  for (const who of ['visitor', 'full'] as const) {
    test(`nothing moves while pages load, ${width} wide, ${who}`, async ({ page, signIn, expectRefusals }) => {
      test.setTimeout(180_000);
      expectRefusals(404);
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      if (who === 'full') await signIn('full');
      await slowDown(page);
      await observe(page);
      const moving: string[] = [];
      for (const { name, path } of pages) {
        await open(page, path);
        const { sum, shifts } = await shiftsOf(page);
        if (sum >= most) moving.push(`${name} ${sum.toFixed(3)}\n  ${shifts.join('\n  ')}`);
      }
      expect(moving.join('\n')).toBe('');
    });
  }
}
