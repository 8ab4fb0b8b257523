import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { noUsage } from '@svc/inference';
import { replies, TestProvider } from '../inference/inference.testing.ts';
import { updatePrices } from './providers.prices.commands.ts';
import { costOf, PriceList, pricesPath } from './providers.prices.ts';

const dataDir = () => {
  const path = mkdtempSync(join(tmpdir(), 'svc-prices-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
};

describe('prices', () => {
  test('a model has the price of its own name, with a date behind it or without, and never that of a shorter name', () => {
    using dir = dataDir();
    const book = PriceList.read(dir.path);
    for (const name of ['gpt-5-mini', 'gpt-5-mini-2025-08-07', 'claude-opus-4-5-20251101', 'claude-opus-4-5@20251101'])
      assert.ok(book.of(name), name);
    assert.equal(book.of('o3')?.output, 8);
    assert.equal(book.of('o3-pro')?.output, 80);
    for (const name of ['gpt-5-minimal', 'o3-proper', 'gpt-5-mini-preview', 'claude-opus-4-5-latest', 'llama3.2'])
      assert.equal(book.of(name), undefined, name);
    assert.match(book.asOf, /^2026-/);
  });

  test('what is long, cached for an hour or searched for has the price of that', () => {
    using dir = dataDir();
    const price = PriceList.read(dir.path).of('claude-haiku-5-5');
    const cost = (change: object): number => costOf({ ...noUsage, ...change }, price);
    assert.equal(cost({ input: 100_000, output: 1_000 }), 10_500);
    assert.equal(cost({ input: 100_010, output: 1_000 }), 52_505);
    assert.equal(cost({ input: 1_000, cacheWritten: 1_000 }), 125);
    assert.equal(cost({ input: 1_000, cacheWritten: 1_000, cacheWrittenHour: 1_000 }), 200);
    assert.equal(cost({ searches: 3 }), 30_000);
  });

  test('prices of a file or an address are checked, taken over whole, and win over those of the release', async () => {
    using dir = dataDir();
    const file = join(dir.path, 'new.json');
    const models = { 'gpt-5-mini': { input: 7, output: 9 }, 'new-1': { input: 1, output: 2 } };
    writeFileSync(file, JSON.stringify({ as_of: '2026-11-20', models }));
    const report = await updatePrices(dir.path, file);
    assert.deepEqual(report, {
      file: pricesPath(dir.path),
      as_of: '2026-11-20',
      models: 2,
      changed: 'gpt-5-mini',
      new: 'new-1',
    });
    const book = PriceList.read(dir.path);
    assert.deepEqual([book.of('gpt-5-mini')?.input, book.of('new-1')?.output, book.of('gpt-5')?.input], [7, 2, 1.25]);
    await using site = await new TestProvider().listen();
    site.script = replies({ as_of: '2026-11-21', models: { 'new-1': { input: 3 } } });
    await updatePrices(dir.path, `${site.url}/prices.json`);
    assert.equal(PriceList.read(dir.path).of('new-1')?.input, 3);
    for (const wrong of [{}, { as_of: '2026-11-21', models: { x: { input: -1 } } }, { as_of: 'today', models: {} }]) {
      site.script = replies(wrong);
      await assert.rejects(updatePrices(dir.path, site.url), /prices/);
    }
    await assert.rejects(updatePrices(dir.path, join(dir.path, 'none.json')), /ENOENT/);
    assert.equal(PriceList.read(dir.path).of('new-1')?.input, 3);
  });
});
