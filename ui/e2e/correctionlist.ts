import type { Locator, Page } from '@playwright/test';
import { wantNoViolation } from './axe';
import type { Server } from './server';
import { expect, open, read, wantNoSidewaysScroll } from './test';

interface Correction {
  gpu_type: string;
  region: string;
  granularity: string;
  timestamp: string;
  revision: number;
  index_value: number | null;
  previous_value: number | null;
  corrected_at: string;
  reason: string;
}

/** The line above the list. */
export const summaryOf = (part: Locator) => part.getByRole('status').filter({ hasText: 'correction' });
export const counted = (count: number) => new RegExp(`^\\s*${count}\\s+corrections?,`);

/** Checks what a reader with Full access sees of corrections: newest first, filtered by the address, with their proofs. */
export async function wantCorrections(page: Page, server: Server): Promise<void> {
  const { data }: { data: Correction[] } = await read(server, '/api/corrections?limit=10000', server.keys.full);
  expect(data.length).toBeGreaterThan(1);
  const newest = data.at(-1)!;
  await open(page, '/corrections');
  const part = page.getByRole('region', { name: 'Corrected values', exact: true });
  await expect(summaryOf(part)).toHaveText(counted(data.length));
  const row = part.getByRole('row').nth(1);
  await expect(row).toContainText(`${newest.gpu_type}, ${newest.region}, ${newest.granularity}`);
  await expect(row).toContainText('late rows');
  await expect(row).toContainText(newest.index_value?.toFixed(4) ?? 'taken back');
  await expect(row).toContainText(newest.previous_value?.toFixed(4) ?? 'no value');
  if (newest.index_value !== null && newest.previous_value !== null) {
    const percent = (newest.index_value / newest.previous_value - 1) * 100;
    await expect(row).toContainText(`${Math.abs(percent).toFixed(2)}%`);
  }
  await wantNoViolation(page);
  await wantNoSidewaysScroll(page);

  await part.getByLabel('GPU model').selectOption(newest.gpu_type);
  await part.getByLabel('Region').selectOption(newest.region);
  await part.getByRole('button', { name: newest.granularity === 'daily' ? 'Daily' : 'Hourly' }).press('Enter');
  const those = data.filter(
    (one) => one.gpu_type === newest.gpu_type && one.region === newest.region && one.granularity === newest.granularity,
  );
  expect(those.length).toBeLessThan(data.length);
  await expect(summaryOf(part)).toHaveText(counted(those.length));
  const link = new URL(page.url());
  await open(page, link.pathname + link.search); // the address alone has the same list
  await expect(summaryOf(part)).toHaveText(counted(those.length));

  await part
    .getByRole('link', { name: `Revision ${newest.revision}` })
    .first()
    .press('Enter');
  await expect(page).toHaveURL(/as_of=/);
  const revisions = page.getByRole('region', { name: 'Table of the revisions' });
  await expect(revisions.locator('[aria-current="true"]').getByRole('cell').first()).toHaveText(`${newest.revision}`);
  await page.getByRole('link', { name: 'Corrections of this series' }).press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Corrections' })).toBeVisible();
}
