import { describe, expect, test, vi } from 'vitest';
import vectors from './testdata/verify.json';
import { consistencySizes, verify, witnessKeyProblem, type Evidence, type State, type Step } from './verify';

type Vector = (typeof vectors)[number];

const asked = { gpu_type: 'H100 SXM', region: 'global', timestamp: '2026-02-03T21:00:00.000Z', revision: 1 };

function evidenceOf(vector: Vector, more: Partial<Evidence> = {}): Evidence {
  const { response, key, events, kept, witnesses, consistency } = vector;
  return {
    ...{ response, key, events, asked, kept: kept ?? [], witnesses: witnesses ?? [] },
    consistency: { hashes: consistency ?? [] },
    ...more,
  };
}

const vectorOf = (name: string): Vector => vectors.find((vector) => vector.name === name)!;
const statesOf = (steps: Step[]): Record<string, State> =>
  Object.fromEntries(steps.map((step) => [step.name, step.state]));

/** What each vector leads to in the browser: the steps that fail and, if it is not verified, what it is. */
const wanted: Record<string, { failed?: Step['name'][]; text?: string; verdict?: 'open' }> = {
  'value changed': {
    failed: ['record'],
    text: 'Expected a record with the hash 5ffb5d4ba65a…8fea49cb, but the text that was sent has',
  },
  'value and hash changed': { failed: ['entry'], text: 'whose hash is' },
  'entry of another record': { failed: ['entry'], text: 'but it is about something else: “audit”' },
  'wrong leaf index': { failed: ['inclusion'], text: 'but entry 171 and its hashes lead to' },
  'leaf index too large': {
    failed: ['inclusion'],
    text: 'Expected one of 300 entries, but the proof is for entry 300.',
  },
  'wrong tree size': { failed: ['inclusion'], text: 'for the 300 entries of the checkpoint, but it is for 299' },
  'truncated hashes': { failed: ['inclusion'], text: 'Expected 9 hashes for entry 170 of 300, but the proof has 8.' },
  'no hash': { failed: ['inclusion'], text: 'Expected a hash in the proof, but found “x' },
  'not logged yet': { verdict: 'open' },
  'no JSON': { failed: ['record'], text: 'Expected the response as a JSON object, but found “<html>”' },
  'a name twice': { failed: ['record'], text: 'its name “index_value” is there twice' },
  'checkpoint of another key': { failed: ['signature'], text: 'compare it with what the operator publishes elsewhere' },
  'key that no event leads to': {
    failed: ['signature'],
    text: 'compare it with what the operator publishes elsewhere',
  },
  'event with a forged signature': { failed: ['signature'], text: 'key event 1 (begin) to be signed' },
  'key accepted without the one before': { failed: ['signature'], text: 'compare it with what the operator publishes' },
  'revoked key refused': { failed: ['signature'], text: 'which the operator has revoked' },
  fork: { failed: ['consistency'], text: 'to begin with the 200 that this browser saw before, but it does not' },
  'fork, with the proof of the fork': { failed: ['consistency'], text: 'the history of the log was changed' },
  'fork of the same size': { failed: ['consistency'], text: 'the history of the log was changed' },
  'truncated consistency proof': { failed: ['consistency'], text: 'the history of the log was changed' },
  'cosignature of another time': { failed: ['witnesses'], text: 'but 1 of 1 are not valid' },
  'cosignature of another checkpoint': { failed: ['witnesses'], text: 'but 1 of 1 are not valid' },
  'cosignature missing': { verdict: 'open' },
  'cosignature of an impostor': { verdict: 'open' },
};

describe('vectors of the Go package verifier', () => {
  test.each(vectors.map((vector) => [vector.name, vector] as const))('%s', async (name, vector) => {
    const { verdict, steps } = await verify(evidenceOf(vector));
    expect(verdict === 'verified').toBe(vector.error === '');
    const { failed = [], text = '', verdict: other = 'failed' } = wanted[name] ?? {};
    if (vector.error !== '') expect(verdict).toBe(other);
    const failures = steps.filter((step) => step.state === 'failed');
    expect(failures.map((step) => step.name)).toEqual(failed);
    if (failed.length > 0) expect(failures[0]!.text).toContain(text);
  });

  test('have no expectation without a vector', () =>
    expect(Object.keys(wanted).filter((name) => !vectorOf(name))).toEqual([]));
});

test('an honest response passes every step that can be checked', async () => {
  const result = await verify(evidenceOf(vectorOf('same key')));
  expect(result.text).toBe('Verified in your browser');
  const passed = { record: 'passed', entry: 'passed', inclusion: 'passed', signature: 'passed' };
  expect(statesOf(result.steps)).toEqual({ ...passed, witnesses: 'open', consistency: 'passed' });
});

test('any changed character is noticed', async () => {
  const honest = vectorOf('same key');
  const begin = honest.response.indexOf('"inclusion"');
  for (let at = begin; at < honest.response.length; at += 7) {
    const other = honest.response[at] === 'c' ? 'd' : 'c';
    const response = honest.response.slice(0, at) + other + honest.response.slice(at + 1);
    const { verdict } = await verify(evidenceOf(honest, { response }));
    expect(`${at}: ${verdict}`).not.toBe(`${at}: verified`);
  }
});

test('braces and quotation marks in texts do not mislead', async () => {
  const { response } = vectorOf('honest');
  const more = response.replace('"success":true', String.raw`"note":"}\",\"data\":{}","nested":[{"data":[]}]`);
  expect((await verify(evidenceOf(vectorOf('honest'), { response: more }))).verdict).toBe('verified');
});

test('a true record of another value is refused', async () => {
  const result = await verify(evidenceOf(vectorOf('honest'), { asked: { ...asked, gpu_type: 'H200' } }));
  expect(statesOf(result.steps).record).toBe('failed');
  expect(result.steps[0]!.text).toBe('Expected a record whose gpu_type is "H200", but it is "H100 SXM".');
});

test('a record that is shown with another value than was sent is refused', async () => {
  const result = await verify(evidenceOf(vectorOf('honest'), { asked: { ...asked, index_value: 2.3542 } }));
  expect(result.verdict).toBe('failed');
});

test('a record that is in no checkpoint yet is neither verified nor wrong', async () => {
  const result = await verify(evidenceOf(vectorOf('not logged yet')));
  expect(result.text).toBe('Not in a signed checkpoint yet');
  const open = { entry: 'open', inclusion: 'open', signature: 'open', witnesses: 'open', consistency: 'open' };
  expect(statesOf(result.steps)).toEqual({ record: 'passed', ...open });
  expect(result.keep).toBeUndefined();
});

describe('what the browser keeps', () => {
  const checkpointOf = (vector: Vector) => JSON.parse(vector.response).inclusion.checkpoint as string;

  test('is the first key and checkpoint', async () => {
    const vector = vectorOf('honest');
    const { keep, steps } = await verify(evidenceOf(vector));
    expect(keep).toEqual({ log: 'assay/test', key: vector.key.trim(), checkpoint: checkpointOf(vector) });
    expect(steps.at(-1)).toMatchObject({ state: 'open', optional: true });
    expect(steps.at(-1)!.text).toBe('This is the first checkpoint that this browser keeps: 300 entries.');
  });

  test('stays the first key when that was rotated, with the newer checkpoint', async () => {
    const vector = vectorOf('rotated key followed');
    const { keep } = await verify(evidenceOf(vector));
    const { events } = evidenceOf(vector);
    expect(keep).toEqual({ log: 'assay/test', key: vector.kept![0]!.key, checkpoint: checkpointOf(vector), events });
    expect(vector.key).not.toBe(keep!.key);
  });

  test('includes the changes of the key, which the server cannot leave out later', async () => {
    const vector = vectorOf('rotated key followed');
    const { events } = evidenceOf(vector);
    const kept = [{ ...vector.kept![0]!, events: `${events}a revocation\n` }];
    const { verdict, steps } = await verify(evidenceOf(vector, { kept }));
    expect([verdict, steps[3]!.state]).toEqual(['failed', 'failed']);
    expect(steps[3]!.text).toMatch(/no longer shows all of them/);
  });

  test.each(['older than the kept checkpoint', 'same checkpoint', 'fork', 'revoked key refused'])(
    'does not change: %s',
    async (name) => expect((await verify(evidenceOf(vectorOf(name)))).keep).toBeUndefined(),
  );

  test('is not replaced by another key, which the reader may accept', async () => {
    const vector = vectorOf('key accepted without the one before');
    const { keep, newKey } = await verify(evidenceOf(vector));
    expect([keep, newKey]).toEqual([undefined, vector.key]);
    const accepted = [{ ...vector.kept![0]!, key: newKey! }];
    expect((await verify(evidenceOf(vector, { kept: accepted }))).verdict).toBe('verified');
  });

  test('is not replaced by another log', async () => {
    const vector = vectorOf('same key');
    const kept = [{ ...vector.kept![0]!, log: 'assay/before' }];
    const { verdict, keep, newKey, steps } = await verify(evidenceOf(vector, { kept }));
    expect([verdict, keep, newKey]).toEqual(['failed', undefined, vector.key]);
    expect(steps[3]!.text).toMatch(/^Expected the log assay\/before, .* but found the log assay\/test/);
  });
});

describe('the consistency proof', () => {
  const sizes = (name: string) => consistencySizes(evidenceOf(vectorOf(name)));
  test('is between the two checkpoints', () => expect(sizes('same key')).toEqual({ from: 200, to: 300 }));
  test('is between the other two if the kept one is newer', () =>
    expect(sizes('older than the kept checkpoint')).toEqual({ from: 300, to: 302 }));
  test('is not needed for one checkpoint', () => expect(sizes('same checkpoint')).toBeUndefined());
  test('is not needed at the first visit', () => expect(sizes('honest')).toBeUndefined());
  test('is not needed for a text that is no response', () => expect(sizes('no JSON')).toBeUndefined());

  test('fails if the server refuses it', async () => {
    const result = await verify(
      evidenceOf(vectorOf('same key'), { consistency: { refused: 'The log has 100 entries.' } }),
    );
    expect(statesOf(result.steps).consistency).toBe('failed');
    expect(result.steps.at(-1)!.text).toContain('The log has 100 entries.');
  });
});

describe('witnesses', () => {
  const linesOf = async (name: string) => (await verify(evidenceOf(vectorOf(name)))).steps[4]!.witnesses;
  test('whose keys are unknown are listed', async () =>
    expect(await linesOf('cosignatures without keys')).toEqual(
      ['a.example', 'b.example'].map((name) => ({
        name,
        state: 'open',
        text: 'not checked: you have not entered the key of this witness',
      })),
    ));
  test('whose keys are known are checked', async () =>
    expect((await linesOf('cosignature good'))![0]).toEqual({
      ...{ name: 'a.example', state: 'passed', text: 'signed 2023-11-14T22:13:20.000Z' },
    }));
  test('that have not signed are named', async () =>
    expect((await linesOf('cosignature missing'))![1]).toEqual({
      ...{ name: 'b.example', state: 'open', text: 'has not signed this checkpoint' },
    }));

  test('have keys with a hash that fits', async () => {
    const key = vectorOf('cosignature good').witnesses![0]!;
    expect(await witnessKeyProblem(` ${key}\n`)).toBeUndefined();
    expect(await witnessKeyProblem(key.replace('a.example', 'b.example'))).toContain('is not the key of a witness');
    expect(await witnessKeyProblem(vectorOf('honest').key)).toContain('is not the key of a witness'); // of a log
  });
});

describe('a browser that cannot check', () => {
  test('offers no cryptography to the page', async () => {
    vi.stubGlobal('crypto', {});
    const result = await verify(evidenceOf(vectorOf('honest')));
    expect(result.verdict).toBe('open');
    expect(new Set(result.steps.map((step) => step.state))).toEqual(new Set(['open']));
    expect(result.text).toContain('was not loaded over https');
    expect(await witnessKeyProblem('w')).toContain('was not loaded over https');
  });

  test('does not know Ed25519', async () => {
    const { subtle } = crypto;
    vi.stubGlobal('crypto', {
      subtle: {
        digest: subtle.digest.bind(subtle),
        importKey: () => Promise.reject(new DOMException('Unrecognized name.', 'NotSupportedError')),
      },
    });
    const result = await verify(evidenceOf(vectorOf('honest')));
    expect(result.verdict).toBe('open');
    expect(statesOf(result.steps)).toMatchObject({ record: 'passed', inclusion: 'passed', signature: 'open' });
    expect(result.steps[3]!.text).toContain('Ed25519');
    expect(result.keep).toBeUndefined();
  });
});
