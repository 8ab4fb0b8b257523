import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { mock, test } from 'node:test';
import { openTest } from '../../testing.ts';

test('files of the reference are read once, however many fetch them', async () => {
  await using t = await openTest();
  const read = mock.method(fs, 'readFile');
  syncBuiltinESMExports();
  try {
    const url = `${t.gateway.url}/docs/swagger-ui-bundle.js`;
    const texts = await Promise.all(Array.from({ length: 5 }, async () => (await fetch(url)).text()));
    texts.push(await (await fetch(url)).text());
    assert.deepEqual([new Set(texts).size, (texts[0]?.length ?? 0) > 100_000], [1, true]);
    const files = read.mock.calls.map(({ arguments: [file] }) => file);
    const isBundle = (file: unknown) => typeof file === 'string' && file.endsWith('swagger-ui-bundle.js');
    assert.equal(files.filter(isBundle).length, 1);
  } finally {
    read.mock.restore();
    syncBuiltinESMExports();
  }
});
