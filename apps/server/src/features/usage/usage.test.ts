import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { setQuota } from '../../kernel/records/quotas.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, type HttpAnswer, openTest, type TestAccount } from '../../testing.ts';

const most = {
  SVC_QUOTA_KEYS: '4',
  SVC_QUOTA_DEVICES: '3',
  SVC_QUOTA_SCHEDULES: '3',
  SVC_QUOTA_HEARTBEATS: '3',
  SVC_QUOTA_WEBHOOKS: '3',
};

describe('quotas of an account', () => {
  const { gateway, second } = shared(() => openTest({ gateways: 2, settings: most }));
  const agent = { name: 'x', kind: 'agent', spec: { prompt: 'x' }, trigger: { type: 'event', trigger_id: 'go' } };
  const add: Record<string, (account: TestAccount, n: number) => Promise<HttpAnswer>> = {
    keys: ({ key }, n) => http((n % 2 ? gateway : second).url, '/v1/keys', { key, body: { name: `${n}` } }),
    devices: ({ key }, n) =>
      http((n % 2 ? gateway : second).url, '/v1/devices', { key, headers: { 'x-svc-device': randomUUID() } }),
    schedules: ({ key }, n) => http((n % 2 ? gateway : second).url, '/v1/schedules', { key, body: agent }),
    heartbeats: ({ key }, n) =>
      http((n % 2 ? gateway : second).url, '/v1/heartbeats', { key, body: { name: 'x', period_s: 60 } }),
    webhooks: ({ key }, n) => {
      const body = { name: 'x', url: 'https://93.184.215.14/x', enabled: false };
      return http((n % 2 ? gateway : second).url, '/v1/notifications/webhooks', { key, body });
    },
  };
  const usage = async (account: TestAccount) => {
    const { body } = await http(gateway.url, '/v1/usage', { key: account.key });
    const quotas = body.quotas as { name: string; used: number; limit: number }[];
    return Object.fromEntries(quotas.map(({ name, used, limit }) => [name, `${used} of ${limit}`]));
  };

  for (const [name, one] of Object.entries(add)) {
    test(`of many ${name} at once over two gateways as many are made as it may have, and the others say what to do`, async () => {
      const account = await createAccount(gateway);
      const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => one(account, n)));
      const made = answers.filter(({ status }) => status < 300);
      // The account's own key is one of its four.
      assert.equal(made.length, 3);
      for (const answer of answers) {
        if (answer.status < 300) continue;
        assert.deepEqual([answer.status, answer.body.error.code], [429, 'quota_exceeded']);
        assert.equal(answer.headers.get('x-should-retry'), 'false');
        assert.match(answer.body.error.message, new RegExp(`may have \\d ${name}, and has \\d; `));
      }
      assert.equal((await one(await createAccount(gateway), 1)).status < 300, true, 'another account is not concerned');
    });
  }

  test('what is deleted counts no more, and an account may have a limit of its own', async () => {
    const account = await createAccount(gateway);
    for (let n = 0; n < 3; n++) assert.equal((await add['schedules']?.(account, n))?.status, 201);
    const { schedules } = (await http(gateway.url, '/v1/schedules', { key: account.key })).body;
    await http(gateway.url, `/v1/schedules/${schedules[0].id}`, { method: 'DELETE', key: account.key });
    assert.equal((await add['schedules']?.(account, 1))?.status, 201);
    assert.equal((await add['schedules']?.(account, 1))?.status, 429);
    await setQuota(gateway.kernel.sql, account.id, 'schedules', 5);
    assert.equal((await add['schedules']?.(account, 0))?.status, 201);
    const bytes = 4 * JSON.stringify(agent.spec).length;
    assert.deepEqual(await usage(account), {
      keys: '1 of 4',
      logins: '0 of 50',
      passkeys: '0 of 20',
      connections: '0 of 200',
      devices: '0 of 3',
      schedules: '4 of 5',
      schedule_bytes: `${bytes} of ${64 * 2 ** 20}`,
      slots_per_minute: '0 of 1200',
      heartbeats: '0 of 3',
      execs: '0 of 10000',
      exec_bytes: `0 of ${512 * 2 ** 20}`,
      webhooks: '0 of 3',
      run_log_bytes: `0 of ${512 * 2 ** 20}`,
      sandboxes: '0 of 10',
      sandboxes_v2: '0 of 5',
      sandboxes_of_key: '0 of 3',
      sandboxes_of_forks: '0 of 6',
      sandboxes_paused: '0 of 10',
      sandbox_seconds: '0 of 7200',
      sandbox_memory_mb: '0 of 10240',
      sessions: '0 of 10000',
      session_bytes: `0 of ${512 * 2 ** 20}`,
      prompts: '0 of 20000',
      uploads: '0 of 100',
      transcripts: '0 of 20000',
      transcript_bytes: `0 of ${2 ** 30}`,
      audio_bytes: `0 of ${50 * 2 ** 30}`,
      transcript_shares: '0 of 1000',
      transcript_folders: '0 of 1000',
      recording_ms: '0 of 72000000',
      projects: '0 of 200',
      environments: '0 of 500',
      upload_bytes: `0 of ${8 * 2 ** 30}`,
      prompt_bytes: `0 of ${512 * 2 ** 20}`,
    });
    await setQuota(gateway.kernel.sql, account.id, 'schedules', null);
    assert.equal((await usage(account))['schedules'], '4 of 3');
    assert.equal((await add['schedules']?.(account, 0))?.status, 429);
  });

  test('a device that is known goes on working when no further one may come', async () => {
    const account = await createAccount(gateway);
    const ids = Array.from({ length: 3 }, () => randomUUID());
    const as = (id: string, at = gateway) =>
      http(at.url, '/v1/keys', { key: account.key, headers: { 'x-svc-device': id, 'x-svc-device-name': 'n' } });
    for (const id of ids) assert.equal((await as(id)).status, 200);
    assert.equal((await as(randomUUID())).status, 429);
    for (const id of ids) assert.equal((await as(id, second)).status, 200);
  });
});
