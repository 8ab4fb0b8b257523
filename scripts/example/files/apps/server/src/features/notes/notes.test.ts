import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { accountData } from '../../features.ts';
import { deleteData } from '../../kernel/deletion.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { http, openTest } from '../../testing.ts';

describe('notes', () => {
  const { gateway, account } = shared(() => openTest({ settings: { SVC_QUOTA_NOTES: '2' } }));
  const call = (method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key: account.key, body });

  test('a note is kept, finished once, listed and deleted; one more than the quota is refused', async () => {
    const { body: kept } = await call('POST', '/v1/notes', { text: 'Buy milk' });
    assert.equal(kept.status, 'open');
    for (let n = 0; n < 2; n++) assert.equal((await call('POST', `/v1/notes/${kept.id}/finish`)).body.status, 'done');
    await call('POST', '/v1/notes', { text: 'Sleep' });
    assert.equal((await call('POST', '/v1/notes', { text: 'Too much' })).body.error.code, 'quota_exceeded');
    assert.equal((await call('GET', '/v1/notes')).body.notes.length, 2);
    assert.deepEqual(await svcOf(gateway)('notes', 'count'), { notes: 2 });
    assert.equal((await call('DELETE', `/v1/notes/${kept.id}`)).status, 200);
    assert.equal((await call('DELETE', `/v1/notes/${kept.id}`)).status, 404);
  });

  test('a deleted account keeps no note', async () => {
    await call('POST', '/v1/notes', { text: 'Buy milk' });
    const [data] = accountData.filter(({ tables }) => tables.includes('notes.notes'));
    assert.ok(data);
    const { deleted } = await deleteData(gateway.kernel, data, { accountId: account.id, email: undefined });
    assert.ok((deleted['notes.notes'] ?? 0) > 0);
    assert.deepEqual((await call('GET', '/v1/notes')).body.notes, []);
  });
});
