import { describe, expect, test } from 'vitest';
import { chipReader } from './chips';

const chipsOf = chipReader([
  'B200',
  'GB200',
  'H100',
  'H200',
  'A100',
  'MI300X',
  'RTX A6000',
  'TPU v5e',
  'Trainium2',
  'Other',
]);

describe('the chips in a description', () => {
  test.each([
    ['GB200 NVL72', ['GB200']],
    ['H100, H200', ['H100', 'H200']],
    ['8xH100 and H200x8', ['H100', 'H200']],
    ['H100s', ['H100']],
    ['MI 300X', ['MI300X']],
    ['MI300', ['MI300X']],
    ['A6000', ['RTX A6000']],
    ['RTX A6000', ['RTX A6000']],
    ['TPU v5 lite', ['TPU v5e']],
    ['trn2', ['Trainium2']],
    ['H1000', ['Other']],
    ['', ['Other']],
  ])('%s', (description, chips) => expect(chipsOf(description)).toEqual(chips));

  test('only chips with a group are found', () => expect(chipReader(['H100'])('B200')).toEqual(['Other']));
});
