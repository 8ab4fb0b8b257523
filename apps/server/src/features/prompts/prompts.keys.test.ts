import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { openDevice, type TestDevice } from '../sessions/sessions.testing.ts';

describe('prompts: whose key a launch has', () => {
  const clock = testClock();
  const { gateway } = shared(() => openTest({ clock }));
  let account: TestAccount;
  let laptop: TestDevice;
  beforeEach(async () => {
    account = await createAccount(gateway);
    laptop = await openDevice(gateway, account, { platform: 'Desktop' });
  });
  const keyOf = async (terms: object): Promise<{ id: string; key: string }> =>
    (await http(gateway.url, '/v1/keys', { key: account.key, body: terms })).body;
  const by = (key: string, method: string, path: string, body: object = {}) =>
    http(gateway.url, path, { method, key, body });
  const revoke = (id: string) => http(gateway.url, `/v1/keys/${id}`, { method: 'DELETE', key: account.key });
  const stateOf = async (id: string) =>
    (await gateway.kernel.sql<{ state: string }[]>`select state from prompts.runs where prompt_id = ${id}`)[0]?.state;
  const told = async (type: string) =>
    ((await laptop.ask('GET', '/v1/notifications')).body.notifications as { type: string; body: string }[]).filter(
      (one) => one.type === type,
    );
  const turning = (isDone: () => Promise<boolean>) =>
    until(async () => {
      clock.advance(1_000);
      return isDone();
    });
  const later = () => new Date(clock.now() + 60_000).toISOString();
  const create = async (key: string, fields: object): Promise<string> =>
    (await by(key, 'POST', '/v1/prompts', { prompt: `Do ${randomUUID()}`, ...fields })).body.id;

  test('a prompt launches itself for the key that asked, and not once that key has ended or lost the scope', async () => {
    const [ended, narrowed, fine] = await Promise.all([1, 2, 3].map(() => keyOf({ scopes: ['prompts'] })));
    assert.ok(ended && narrowed && fine);
    const ids = await Promise.all(
      [ended, narrowed, fine].map(({ key }) => create(key, { auto_run: true, not_before: later() })),
    );
    await revoke(ended.id);
    await by(account.key, 'PATCH', `/v1/keys/${narrowed.id}`, { scopes: ['devices'] });
    await turning(async () => (await told('prompt.due')).length === 3);
    assert.deepEqual(await Promise.all(ids.map(stateOf)), [undefined, undefined, 'waiting']);
    const said = (await told('prompt.due')).map(({ body }) => body);
    assert.equal(said.filter((body) => body.includes('launch it again with a key that may do this')).length, 1);
    assert.equal(said.filter((body) => body.includes('lacks the scope "prompts"')).length, 1);
    const [run] = await gateway.kernel.sql`select key_id from prompts.runs where prompt_id = ${ids[2] as string}`;
    assert.equal(run?.['key_id'], fine.id);
  });

  test('who puts a prompt off, or lets it launch itself, answers for it from then on', async () => {
    const [first, second] = await Promise.all([1, 2].map(() => keyOf({ scopes: ['prompts'] })));
    assert.ok(first && second);
    const id = await create(first.key, { auto_run: true, not_before: later() });
    assert.equal((await by(second.key, 'PATCH', `/v1/prompts/${id}`, { not_before: later() })).status, 200);
    await revoke(first.id);
    await turning(async () => (await stateOf(id)) === 'waiting');
    await revoke(second.id);
    await turning(async () => (await stateOf(id)) === 'withdrawn');
  });

  test('when the key ends, a launch that no device took is taken back, one that runs is asked to stop once, and the account hears why', async () => {
    const { id: keyId, key } = await keyOf({ scopes: ['prompts'] });
    const [waits, runs] = await Promise.all([create(key, {}), create(key, {})]);
    for (const id of [waits, runs]) assert.equal((await by(key, 'POST', `/v1/prompts/${id}/launch`)).status, 200);
    const [control] = await gateway.kernel.sql<{ control_id: string; session_id: string }[]>`
      select control_id, session_id from prompts.runs where prompt_id = ${runs}`;
    assert.ok(control);
    const session = `/v1/sessions/${control.session_id}`;
    await laptop.ask('POST', `${session}/controls/${control.control_id}/ack`);
    const { seq } = (await laptop.ask('GET', session)).body;
    const events = [{ type: 'turn_start', turn_id: control.control_id, role: 'user', text: 'x' }];
    assert.equal((await laptop.ask('POST', `${session}/events`, { expected_seq: seq, events })).status, 200);
    await turning(async () => (await stateOf(runs)) === 'running');
    await revoke(keyId);
    await turning(async () => (await told('prompt.failed')).length === 2);
    assert.deepEqual([await stateOf(waits), await stateOf(runs)], ['withdrawn', 'running']);
    const stops = () => gateway.kernel.sql`
      select 1 from sessions.controls where session_id = ${control.session_id} and type = 'stop'`;
    assert.equal((await stops()).length, 1);
    for (let n = 0; n < 5; n += 1) clock.advance(1_000);
    // A later prompt of another key is launched once the ticker has looked again.
    const other = await create(account.key, { auto_run: true });
    await turning(async () => (await stateOf(other)) === 'waiting');
    assert.deepEqual([(await stops()).length, (await told('prompt.failed')).length], [1, 2]);
    for (const { body } of await told('prompt.failed')) assert.match(body, /Launch it again with one/);
  });
});
