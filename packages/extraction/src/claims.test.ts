import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { indexPage, type PageIndex, verifySnippet } from '@svc/verification';
import { readPage } from './index.ts';

interface Pair {
  readonly id: string;
  readonly class: string;
  readonly page: string;
  readonly snippet: string;
  readonly label: boolean;
  /** Texts that must stand beside the snippet so that it does not mislead; empty: nothing makes it right. */
  readonly must: readonly string[];
}

const fixtures = new URL('../../verification/fixtures/claims/', import.meta.url);
const pairs = JSON.parse(readFileSync(new URL('pairs.json', fixtures), 'utf8')) as Pair[];
const words = (text: string): string =>
  ` ${
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(' ') ?? ''
  } `;
const holds = (text: string, part: string): boolean => words(text).includes(words(part));

test('of 480 claims that mislead none is answered without what turns them, and 95 % of 200 true ones are answered', async () => {
  const pages = new Map<string, PageIndex>();
  for (const name of new Set(pairs.map(({ page }) => page))) {
    const bytes = readFileSync(new URL(`pages/${name}.html`, fixtures));
    const { visible, outline } = await readPage(bytes, { url: 'http://a.test/', contentType: 'text/html' });
    pages.set(name, indexPage(visible, outline));
  }
  const judged = pairs.map((pair) => {
    const page = pages.get(pair.page) ?? assert.fail(pair.page);
    const answer = verifySnippet(page, pair.snippet)?.text ?? '';
    const fragments = pair.snippet.split('…').filter((fragment) => words(fragment).trim() !== '');
    return { ...pair, answer, isHeld: answer !== '' && fragments.every((fragment) => holds(answer, fragment)) };
  });
  const misleading = judged.filter(
    ({ label, must, answer, isHeld }) =>
      !label && isHeld && (must.length === 0 || !must.every((part) => holds(answer, part))),
  );
  const missed = judged.filter(({ label, isHeld }) => label && !isHeld);
  assert.deepEqual(
    misleading.map(({ id }) => id),
    [],
  );
  assert.ok(missed.length <= 0.05 * judged.filter(({ label }) => label).length, missed.map(({ id }) => id).join(', '));
});
