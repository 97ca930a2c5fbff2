import { gzipSync } from 'node:zlib';
import { expect, open, test } from './test';

// The compressed size of the scripts of a first visit. It is the same on every machine.
const maxBytes = 150 * 1024;

test('the first view loads less than 150 KB of script', async ({ page }) => {
  const bodies: Promise<Buffer>[] = [];
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') bodies.push(response.body());
  });
  await open(page, '/');
  const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`scripts of the first view, gzipped: ${(total / 1024).toFixed(1)} KB in ${sizes.length} files`);
  expect(sizes.length).toBeGreaterThan(1);
  expect(total).toBeLessThan(maxBytes);
});
