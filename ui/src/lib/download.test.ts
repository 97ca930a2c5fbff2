import { describe, expect, test } from 'vitest';
import { csv } from './download';

describe('CSV', () => {
  test('ends every line with CRLF', async () =>
    expect(await csv(['gpu', 'value'], [['H200', 2.5]]).text()).toBe('gpu,value\r\nH200,2.5\r\n'));
  test('quotes commas, quotes and line breaks', async () =>
    expect(await csv(['a'], [['x,y'], ['say "hi"'], ['two\nlines']]).text()).toBe(
      'a\r\n"x,y"\r\n"say ""hi"""\r\n"two\nlines"\r\n',
    ));
  test('leaves missing values empty', async () =>
    expect(await csv(['a', 'b', 'c'], [[null, undefined, false]]).text()).toBe('a,b,c\r\n,,false\r\n'));
  test.each(['=1+1', '+1', '-1', '@sum', '\tx'])('makes %j no formula', async (text) =>
    expect(await csv(['a'], [[text]]).text()).toBe(`a\r\n'${text}\r\n`),
  );
  test('keeps negative numbers', async () => expect(await csv(['a'], [[-1.5]]).text()).toBe('a\r\n-1.5\r\n'));
});
