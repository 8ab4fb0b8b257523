import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { environmentOf } from '../environments/environments.testing.ts';
import { letIn } from './connections.testing.ts';

const scopes = ['environments', 'environments:terminal', 'notifications', 'transcripts'];

describe('taking back what an app let in', () => {
  const { gateway } = shared(() =>
    openTest({ settings: { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: '443,9' } }),
  );
  const ask = ({ key }: { key: string }, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });
  const ok = async (...request: Parameters<typeof ask>) => {
    const answer = await ask(...request);
    assert.ok(answer.status < 300, `${request[1]} ${request[2]}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const job = (name: string) => gateway.app.jobs.find((one) => one.name === name)?.run(gateway.kernel);

  /** A person with an environment, and an app that they let in. */
  async function begin(trust: Parameters<typeof letIn>[3] = 'registered') {
    const account = await createAccount(gateway);
    const id = await environmentOf(gateway, account);
    const path = `/v1/environments/${id}`;
    const app = await letIn(gateway, account, scopes, trust);
    const add = async (by: { key: string }, { email, key }: TestAccount, role: string, accepts = true) => {
      await ok(by, 'POST', `${path}/members`, { email, role });
      if (accepts) await ok({ key }, 'POST', `${path}/members/me/accept`, {});
    };
    return {
      account,
      id,
      path,
      app,
      add,
      remove: (by: { key: string }, { id: of }: TestAccount) => ok(by, 'DELETE', `${path}/members/${of}`),
      give: (by: { key: string }, { id: of }: TestAccount, role: string) =>
        ok(by, 'PATCH', `${path}/members/${of}`, { role }),
      roleOf: async (who: TestAccount) => (await ask(who, 'GET', path)).body.role as string | undefined,
      total: async () => (await ok(account, 'GET', `/v1/connections/${app.id}`)).connection.let_in_total as number,
      disconnect: async () => (await ok(account, 'DELETE', `/v1/connections/${app.id}`)).taken_back as number,
    };
  }

  test('gives no environment back that its person handed over with the command line', async () => {
    const { account, app, add, remove, roleOf, total, disconnect } = await begin('first-party');
    const next = await createAccount(gateway);
    await add(app, next, 'owner');
    assert.equal(await total(), 0);
    await remove(next, account);
    await disconnect();
    assert.deepEqual([await roleOf(next), await roleOf(account)], ['owner', undefined]);
  });
});
