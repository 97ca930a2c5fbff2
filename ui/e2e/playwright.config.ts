import { availableParallelism } from 'node:os';
import { defineConfig } from '@playwright/test';

// The tests drive the built program in Chromium. `make e2e` runs them; `make screenshots` and `make bench-ui` run the
// projects with those names.
export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  globalSetup: './setup.ts',
  workers: Math.max(2, availableParallelism()),
  fullyParallel: true,
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 15_000 }, // generous, so that a slow machine fails no test
  reporter: [['list']],
  use: {
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
    timezoneId: 'Asia/Tokyo', // far from UTC and New York, so that a time in the reader's zone would be noticed
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox', // build machines run as root
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
  projects: [
    { name: 'e2e', testMatch: '*.spec.ts' },
    { name: 'screenshots', testMatch: 'screenshots.ts' },
    { name: 'bench', testMatch: 'bench.ts' },
  ],
});
