import { describe, expect, test } from 'vitest';
import { languages, noKey, snippet } from './snippets';

const url = 'https://assay.example/api/gpu/H100%20SXM?region=eu-west';

describe.each(languages.map((language) => language.value))('a snippet in %s', (language) => {
  test('reads the address with the key', () => {
    const text = snippet(language, url, noKey);
    expect(text).toContain(url);
    expect(text).toContain(`Bearer ${noKey}`);
  });
  test('has no header without a key', () => expect(snippet(language, url, '')).not.toContain('Authorization'));
});
