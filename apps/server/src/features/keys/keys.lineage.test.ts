import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { credentialsChanged } from '../../kernel/mount/access.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openHost, openTest, type TestAccount } from '../../testing.ts';
import { issueKey } from './index.ts';

describe('lineage of keys', () => {
  const { gateway, second } = shared(() => openTest({ gateways: 2 }));
  const svc = svcOf(gateway);
  interface Made {
    id: string;
    key: string;
  }
  const make = async (by: { key: string }, body: object = {}): Promise<Made> => {
    const answer = await http(gateway.url, '/v1/keys', { key: by.key, body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  };
  const revoke = (by: { key: string }, id: string, query = '') =>
    http(gateway.url, `/v1/keys/${id}${query}`, { method: 'DELETE', key: by.key });
  const works = async (...keys: { key: string }[]): Promise<boolean[]> =>
    Promise.all(
      keys.flatMap(({ key }) =>
        [gateway, second].map(async ({ url }) => (await http(url, '/v1/keys', { key })).status === 200),
      ),
    );
  const twice = (...each: boolean[]): boolean[] => each.flatMap((one) => [one, one]);
  /** root > a > b > c, and a > d. */
  const family = async (): Promise<{ root: TestAccount; a: Made; b: Made; c: Made; d: Made }> => {
    const root = await createAccount(gateway);
    const a = await make(root, { name: 'a' });
    const b = await make(a, { name: 'b' });
    return { root, a, b, c: await make(b, { name: 'c' }), d: await make(a, { name: 'd' }) };
  };

  test('a key names the one that made it, and that of a command none', async () => {
    const { root, a, b } = await family();
    const { keys } = (await http(gateway.url, '/v1/keys', { key: root.key })).body;
    const parents = new Map<string, string | null>(
      keys.map((key: { name: string; parent_id: string | null }) => [key.name, key.parent_id]),
    );
    assert.deepEqual(
      [...parents].sort(([a], [b]) => a.localeCompare(b)),
      [
        ['a', root.keyId],
        ['b', a.id],
        ['c', b.id],
        ['d', a.id],
        ['test', null],
      ],
    );
    const made = await svc('keys', 'create', '--email', root.email);
    const listed = await svc('keys', 'list', '--email', root.email);
    assert.equal(listed.find(({ id }: { id: string }) => id === made.id).parent_id, null);
  });

  test('a revocation leaves children alone and says how many live; with children all go, on every gateway, streams too', async () => {
    const { root, a, b, c, d } = await family();
    await works(root, a, b, c, d);
    const host = await openHost(second, { ...root, key: c.key });
    assert.deepEqual((await revoke(root, a.id)).body, {
      deleted: true,
      id: a.id,
      children_revoked: 0,
      children_left: 3,
    });
    assert.deepEqual(await works(a, b, c, d), twice(false, true, true, true));
    await revoke(root, d.id);
    const answer = await revoke(root, a.id, '?children=true');
    assert.deepEqual(
      [answer.status, answer.body],
      [200, { deleted: true, id: a.id, children_revoked: 2, children_left: 0 }],
    );
    assert.deepEqual(await works(root, a, b, c, d), twice(true, false, false, false, false));
    await host.ended;
    assert.deepEqual((await revoke(root, a.id, '?children=true')).body.children_revoked, 0);
    assert.equal((await revoke(root, a.id, '?children=maybe')).status, 400);
  });

  test('expired keys are no living children, paused ones are', async () => {
    const { root, a, b, c, d } = await family();
    const { sql } = gateway.kernel;
    await sql`update keys.keys set expires_at = now() - interval '1 second' where id = ${c.id}`;
    await http(gateway.url, `/v1/keys/${d.id}`, { method: 'PATCH', key: root.key, body: { status: 'paused' } });
    assert.equal((await revoke(root, a.id)).body.children_left, 2);
    assert.equal((await revoke(root, b.id)).body.children_left, 0);
  });

  test('a weaker key revokes no stronger one through lineage: then none is revoked', async () => {
    const { root, a, b, c, d } = await family();
    const patch = (id: string, body: object) =>
      http(gateway.url, `/v1/keys/${id}`, { method: 'PATCH', key: root.key, body });
    // The parent was narrowed after it had made others.
    await patch(a.id, { scopes: ['keys'] });
    await patch(d.id, { scopes: ['keys'] });
    const refused = await revoke(a, a.id, '?children=true');
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    assert.match(refused.body.error.message, /"[bc]"/);
    assert.deepEqual(await works(a, b, c, d), twice(true, true, true, true));
    assert.equal((await revoke(a, b.id)).status, 403);
    assert.equal((await revoke(a, d.id, '?children=true')).status, 200);
    assert.equal((await revoke(a, a.id)).status, 200, 'its own it may always give up');
  });

  test('another account has no part in it, whatever a row says', async () => {
    const [one, other] = [await family(), await createAccount(gateway)];
    const foreign = await make(other);
    await gateway.kernel.sql`update keys.keys set parent_id = ${one.a.id} where id = ${foreign.id}`;
    assert.equal((await revoke(other, one.a.id, '?children=true')).status, 404);
    assert.equal((await revoke(one.root, one.a.id, '?children=true')).body.children_revoked, 3);
    assert.deepEqual(await works(foreign), twice(true));
  });

  test('no child is made by a key while it is revoked with its children', async () => {
    for (let round = 0; round < 8; round++) {
      const root = await createAccount(gateway);
      const parent = await make(root);
      const creations = Array.from({ length: 6 }, (_, n) =>
        http((n % 2 ? gateway : second).url, '/v1/keys', { key: parent.key, body: {} }),
      );
      const [revoked, ...made] = await Promise.all([revoke(root, parent.id, '?children=true'), ...creations]);
      assert.equal(revoked.status, 200);
      for (const { status } of made) assert.ok(status === 201 || status === 401, `${status}`);
      const living = await gateway.kernel.sql`
        select 1 from keys.keys where account_id = ${root.id} and status <> 'revoked' and id <> ${root.keyId}`;
      assert.equal(living.length, 0, `round ${round}`);
    }
  });

  test('many children, deeper than a stack, go in one revocation', async () => {
    const root = await createAccount(gateway);
    const { sql } = gateway.kernel;
    const top = await make(root);
    let parentId = top.id;
    for (let i = 0; i < 200; i++) {
      const terms = { accountId: root.id, name: `${i}`, scopes: ['*'], parentId };
      parentId = (await issueKey(gateway.kernel, sql, terms)).id;
    }
    assert.equal((await revoke(root, top.id, '?children=true')).body.children_revoked, 200);
    assert.deepEqual(await works(root), twice(true));
  });

  test('svc keys tree shows each key below its maker; svc keys revoke --children takes all of them', async () => {
    const { root, a, b } = await family();
    const tree: { tree: string; name: string; status: string }[] = await svc('keys', 'tree', '--email', root.email);
    assert.deepEqual(
      tree.map((row) => row.tree.replace(/svc_\w+$/, row.name)),
      ['test', '└─ a', '   ├─ b', '   │  └─ c', '   └─ d'],
    );
    assert.ok(tree.every((row) => 'scopes' in row && row.status === 'active' && !('key' in row)));
    assert.deepEqual(await svc('keys', 'revoke', b.id).then(({ children_left }) => children_left), 1);
    const done = await svc('keys', 'revoke', a.id, '--children');
    assert.deepEqual([done.status, done.children_revoked, done.children_left], ['revoked', 2, 0]);
    assert.deepEqual(
      (await svc('keys', 'tree', '--email', root.email)).map((row: { status: string }) => row.status),
      ['active', 'revoked', 'revoked', 'revoked', 'revoked'],
    );
    await assert.rejects(svc('keys', 'revoke', randomUUID(), '--children'), /no such key/);
  });

  test('a prefix that several keys have names none of them', async () => {
    const root = await createAccount(gateway);
    const [one, two] = [await make(root), await make(root)];
    await gateway.kernel.sql`update keys.keys set prefix = 'svc_zZ0z' where id in (${one.id}, ${two.id})`;
    await assert.rejects(svc('keys', 'pause', 'svc_zZ0z'), /several keys begin with svc_zZ0z/);
    await svc('keys', 'revoke', one.id);
    assert.equal((await svc('keys', 'pause', 'svc_zZ0z')).id, two.id);
  });

  test('what a key makes spends of its cap too: nobody gets a fresh one by making a key', async () => {
    const { sql } = gateway.kernel;
    const root = await createAccount(gateway);
    const cap = { spend_cap_micro_usd: 1_000 };
    const a = await make(root, { name: 'a', ...cap });
    const [b, other] = [await make(a, { name: 'b' }), await make(root, { name: 'other', ...cap })];
    const c = await make(b, { name: 'c' });
    const spend = (key: Made, cost: number) =>
      sql`insert into kernel.key_spend values (${root.id}, ${key.id}, ${cost})`;
    await spend(b, 400);
    await spend(c, 599);
    // The cache is older than the spend, until `forget`.
    const spent = async ({ key }: { key: string }): Promise<boolean> => {
      const { body } = await http(second.url, '/v1/sandboxes', { key, body: {} });
      return body.error?.code === 'quota_exceeded';
    };
    const forget = () => gateway.kernel.gateways.announce(credentialsChanged, { accountId: root.id });
    const all = async () => Promise.all([a, b, c, other, root].map(spent));
    assert.deepEqual(await all(), [false, false, false, false, false]);
    await spend(a, 1);
    await forget();
    assert.deepEqual(await all(), [true, true, true, false, false]);
    assert.equal(await spent(await make(a, { name: 'fresh' })), true);
    assert.equal(await spent(await make(root, { name: 'uncapped' })), false);
  });
});
