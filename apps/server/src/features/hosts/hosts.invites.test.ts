import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { systemClock, testClock } from '../../kernel/base/clock.ts';
import { http, openTest } from '../../testing.ts';
import { sweepCalls } from './hosts.jobs.ts';

test('after 100 wrong codes in a minute an address costs the database nothing, and a valid code counts a minute later', async () => {
  const clock = testClock();
  await using t = await openTest({ clock });
  const { kernel, url } = t.gateway;
  const { code } = (await http(url, '/v1/hosts/invites', { key: t.account.key, body: {} })).body;
  const redeem = (text: string) =>
    http(url, '/v1/hosts/invites/redeem', { body: { code: text, device: { id: randomUUID(), name: 'x' } } });
  for (let n = 0; n < 100; n += 1) assert.equal((await redeem('nothing')).status, 403);
  // Nothing can be begun, whatever is shown.
  const { sql } = kernel;
  await sql.begin(async (tx) => {
    await tx`lock table hosts.invites in access exclusive mode`;
    for (const text of ['nothing', code]) assert.equal((await redeem(text)).status, 429);
  });
  clock.advance(60_000);
  assert.equal((await redeem(code)).status, 201);
});

test('a machine that lost the answer to its code gets it again, at once and later, until the code ends; no other gets it', async () => {
  let turned = 0;
  const now = (): number => Date.now() + turned;
  const clock = { ...systemClock, now, instant: () => new Date(now()).toISOString() };
  await using t = await openTest({ clock, gateways: 2 });
  const { gateway, second, account } = t;
  const invited = async (): Promise<string> =>
    (await http(gateway.url, '/v1/hosts/invites', { key: account.key, body: {} })).body.code;
  const device = randomUUID();
  const redeem = async (code: string, id = device, url = gateway.url): Promise<{ status: number; text: string }> => {
    const { status, body } = await http(url, '/v1/hosts/invites/redeem', { body: { code, device: { id, name: 'x' } } });
    return { status, text: JSON.stringify(body) };
  };
  const code = await invited();
  const both = await Promise.all([gateway, second, gateway, second].map(({ url }) => redeem(code, device, url)));
  turned += 500_000;
  both.push(await redeem(code, device, second.url));
  assert.deepEqual([both[0]?.status, new Set(both.map(({ text }) => text)).size], [201, 1], JSON.stringify(both));
  assert.equal((await redeem(code, randomUUID())).status, 403);
  const { key } = JSON.parse(both[0]?.text ?? '') as { key: string };
  const [row] = await gateway.kernel.sql<{ answer: Buffer }[]>`select answer from hosts.invites`;
  assert.ok(row && !row.answer.includes(key), 'it is kept sealed');
  turned += 101_000;
  assert.equal((await redeem(code)).status, 403);
  await sweepCalls.run(gateway.kernel);
  assert.equal((await gateway.kernel.sql`select from hosts.invites`).count, 0);
  const other = await invited();
  const place = randomUUID();
  assert.equal((await redeem(other, place)).status, 201);
  const { keys } = (await http(gateway.url, '/v1/keys', { key: account.key })).body;
  for (const { id, name } of keys as { id: string; name: string }[])
    if (name === 'host x') await http(gateway.url, `/v1/keys/${id}`, { method: 'DELETE', key: account.key });
  assert.equal((await redeem(other, place)).status, 403, 'its key was revoked');
});

test('a code makes no key while the account of its maker is suspended', async () => {
  await using t = await openTest();
  const { kernel, url } = t.gateway;
  const { code } = (await http(url, '/v1/hosts/invites', { key: t.account.key, body: {} })).body;
  const redeem = () =>
    http(url, '/v1/hosts/invites/redeem', { body: { code, device: { id: randomUUID(), name: 'x' } } });
  await kernel.sql`update accounts.accounts set suspended_at = now() where id = ${t.account.id}`;
  assert.equal((await redeem()).status, 403);
  await kernel.sql`update accounts.accounts set suspended_at = null where id = ${t.account.id}`;
  assert.equal((await redeem()).status, 201);
});
