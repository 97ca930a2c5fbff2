import { describe, expect, test } from 'vitest';
import { pageOf } from './pages';

describe('the page of a path', () => {
  test.each([
    ['/', 'Overview', ''],
    ['/gpu/H100%20SXM', 'H100 SXM', 'H100 SXM'],
    ['/proof/RTX%20PRO%206000%20WS', 'Proof of RTX PRO 6000 WS', 'RTX PRO 6000 WS'],
    ['/gpu/$&', '$&', '$&'],
    ['/gpu/%E0%A4%A', '%E0%A4%A', '%E0%A4%A'],
    ['/docs', 'API reference', ''],
    ['/gpu/', 'Not found', ''],
    ['/gpu/a/b', 'Not found', ''],
    ['/memory/', 'Not found', ''],
    ['/nowhere', 'Not found', ''],
  ])('%s', (path, title, name) => expect(pageOf(path)).toMatchObject({ title, name }));
});
