import assert from 'node:assert/strict';
import { test } from 'node:test';
import { http, openTest } from '../../testing.ts';

test('below {resolve_url} there is 401 without a key, else 404, as one text each', async () => {
  await using t = await openTest();
  for (const method of ['GET', 'POST']) {
    for (const path of ['/resolve/', '/resolve/v1/fixes?q=x', '/resolve/a/b']) {
      const none = await http(t.gateway.url, path, { method });
      assert.deepEqual([none.status, typeof none.body.error], [401, 'string']);
      const wrong = await http(t.gateway.url, path, { method, key: `${t.account.key.slice(0, -1)}!` });
      assert.equal(wrong.status, 401);
      const known = await http(t.gateway.url, path, { method, key: t.account.key });
      assert.deepEqual([known.status, Object.keys(known.body), typeof known.body.error], [404, ['error'], 'string']);
    }
  }
});
