import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, until } from '../../testing.ts';
import { type Json, openSandboxes } from './sandboxes.testing.ts';

describe('a sandbox that is changed while it lives', () => {
  const t = shared(() => openSandboxes());
  const change = (id: string, body: unknown) => t.call('PATCH', `/v1/sandboxes/${id}`, body);
  const leftOf = ({ expires_at }: Json): number => Date.parse(expires_at) - Date.now();
  const isAbout = (box: Json, seconds: number): void =>
    assert.ok(Math.abs(leftOf(box) - seconds * 1_000) < 60_000, `${leftOf(box)} ms are left, not ${seconds} s`);

  test('its time is set from now, longer and shorter, and the node ends it then', async () => {
    const box = await t.create({ backend: 'v1', ttl_seconds: 600 });
    const longer = await change(box.id, { ttl_seconds: 7_200 });
    assert.equal(longer.status, 200, JSON.stringify(longer.body));
    isAbout(longer.body, 7_200);
    const held = async () => (await t.node.list()).find(({ id }) => id === box.id);
    assert.equal(new Date((await held())?.expires_at ?? 0).toISOString(), longer.body.expires_at);
    isAbout((await change(box.id, { ttl_seconds: 300 })).body, 300);
    isAbout((await change(box.id, { ttl_seconds: null })).body, 3_600);
    assert.equal((await t.call('GET', `/v1/sandboxes/${box.id}`)).body.status, 'running');
    await t.clear();
  });

  test('labels are replaced, the way out is opened and closed for what connects from then on', async () => {
    const box = await t.create({ backend: 'v2', metadata: { job: 'a', more: 'b' } });
    const ask = async () =>
      (
        await t.exec(
          box,
          'curl -sS https://other.test/ 2>&1; curl -s https://other.test/ -o /dev/null -w "%{http_connect}"',
        )
      ).stdout;
    const refusal = await ask();
    const { body: opened } = await change(box.id, {
      metadata: { job: 'c' },
      egress: { mode: 'allowlist', domains: ['other.test'] },
    });
    assert.deepEqual([opened.metadata, opened.egress.domains], [{ job: 'c' }, ['other.test']]);
    isAbout(opened, 3_600);
    // The name does not exist: it is tried, and no longer refused.
    assert.notEqual(await ask(), refusal);
    const { body: closed } = await change(box.id, { egress: null, metadata: null });
    assert.deepEqual([closed.egress, closed.metadata], [{ mode: 'none' }, {}]);
    assert.equal(await ask(), refusal);
    await t.clear();
  });

  test('a paused one is changed too: its time goes on with the resume', async () => {
    const box = await t.create({ backend: 'v2' });
    await t.call('POST', `/v1/sandboxes/${box.id}/pause`);
    const { body } = await change(box.id, { ttl_seconds: 900, metadata: { a: 'b' } });
    assert.deepEqual([body.status, body.metadata], ['paused', { a: 'b' }]);
    isAbout(body, 900);
    isAbout((await t.call('POST', `/v1/sandboxes/${box.id}/resume`)).body, 900);
    await t.clear();
  });

  test('what is out of range, not there, over, or nothing at all is refused, and changes nothing', async () => {
    const box = await t.create({ backend: 'v1' });
    const codeOf = async (id: string, body: unknown) => {
      const answer = await change(id, body);
      return [answer.status, answer.body.error?.code];
    };
    for (const seconds of [59, 86_401, 604_801])
      assert.deepEqual(await codeOf(box.id, { ttl_seconds: seconds }), [400, 'invalid_ttl']);
    for (const body of [{}, { ttl_seconds: 'x' }, { egress: { mode: 'all' } }, { metadata: { a: 1 } }])
      assert.deepEqual(await codeOf(box.id, body), [400, 'bad_request'], JSON.stringify(body));
    assert.deepEqual(await codeOf(randomUUID(), { ttl_seconds: 60 }), [404, 'not_found']);
    const stranger = await createAccount(t.gateway);
    const theirs = await http(t.gateway.url, `/v1/sandboxes/${box.id}`, {
      method: 'PATCH',
      key: stranger.key,
      body: { ttl_seconds: 60 },
    });
    assert.equal(theirs.status, 404);
    isAbout((await t.call('GET', `/v1/sandboxes/${box.id}`)).body, 3_600);
    await t.call('DELETE', `/v1/sandboxes/${box.id}`);
    await until(async () => (await codeOf(box.id, { ttl_seconds: 60 }))[1] === 'sandbox_not_running');
  });
});
