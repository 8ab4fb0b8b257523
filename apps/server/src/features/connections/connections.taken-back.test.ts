import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { inTransaction } from '../../kernel/db/db.ts';
import { rowsInOthers, takeBudget } from '../../kernel/share/budgets.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { environmentOf } from '../environments/environments.testing.ts';
import { newBrowser } from '../notifications/notifications.testing.ts';
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

  test('is stopped by nothing that a guest did: an invitation of the person whom they took out, a full environment', async () => {
    const e = await begin();
    const [friend, { sql }] = [await createAccount(gateway), gateway.kernel];
    await e.add(e.app, friend, 'owner');
    await e.remove(friend, e.account);
    await e.add(friend, e.account, 'viewer', false);
    await sql`
      with made as (
        insert into accounts.accounts (email)
        select 'crowd-' || n || '-' || ${e.id}::text || '@example.test' from generate_series(1, 200) n returning id)
      insert into environments.members (environment_id, account_id, role, linux_username, place, created_at)
      select ${e.id}::uuid, id, 'viewer', 'crowd' || row_number() over (), 10 + row_number() over (), now() from made`;
    await e.disconnect();
    assert.deepEqual([await e.roleOf(e.account), await e.roleOf(friend)], ['owner', undefined]);
    assert.deepEqual((await ok(e.account, 'GET', '/v1/environments/invitations')).invitations, []);
  });

  test('opens no port: what the app or somebody else has shut since stays shut', async () => {
    const { account, path, app, add, disconnect } = await begin();
    const other = await createAccount(gateway);
    await add(account, other, 'maintainer');
    const put = (by: { key: string }, port: number, visibility: string) =>
      ok(by, 'PUT', `${path}/ports/${port}`, { visibility });
    await put(account, 3000, 'public');
    await put(app, 3000, 'owner');
    await put(account, 4000, 'authenticated');
    await put(app, 4000, 'public');
    await put(other, 4000, 'owner');
    await put(account, 5000, 'public');
    await put(app, 5000, 'owner');
    await put(app, 5000, 'public');
    await disconnect();
    const { ports } = await ok(account, 'GET', path);
    assert.deepEqual(
      ports.map(({ port, visibility }: { port: number; visibility: string }) => [port, visibility]),
      [
        [3000, 'owner'],
        [4000, 'owner'],
        [5000, 'owner'],
      ],
    );
  });

  test('lowers nobody below what others gave them after the app had lowered them', async () => {
    const { account, app, add, give, roleOf, disconnect } = await begin();
    const [owner, member] = [await createAccount(gateway), await createAccount(gateway)];
    await add(account, owner, 'owner');
    await add(account, member, 'developer');
    await give(app, member, 'viewer');
    await give(owner, member, 'maintainer');
    await disconnect();
    assert.equal(await roleOf(member), 'maintainer');
  });

  test('gives no environment back that its person handed over with the command line', async () => {
    const { account, app, add, remove, roleOf, total, disconnect } = await begin('first-party');
    const next = await createAccount(gateway);
    await add(app, next, 'owner');
    assert.equal(await total(), 0);
    await remove(next, account);
    await disconnect();
    assert.deepEqual([await roleOf(next), await roleOf(account)], ['owner', undefined]);
  });

  test('gives nothing back that others than guests of the app took, and takes from nobody what then is theirs', async () => {
    for (const isOut of [true, false]) {
      const { account, path, app, add, give, remove, roleOf, disconnect } = await begin();
      const [owner, guest] = [await createAccount(gateway), await createAccount(gateway)];
      await add(account, owner, 'owner');
      await add(app, guest, 'maintainer');
      if (isOut) await remove(owner, account);
      else await give(owner, account, 'viewer');
      await give(owner, guest, 'owner');
      await ok(guest, 'POST', `${path}/members/me/accept`, {});
      await remove(owner, owner);
      await disconnect();
      assert.deepEqual([await roleOf(guest), await roleOf(account)], ['owner', isOut ? undefined : 'viewer']);
    }
  });

  test('takes nobody out whom somebody else has given more since, but one guest does not keep another', async () => {
    const { account, app, add, give, roleOf, disconnect } = await begin();
    const people = [await createAccount(gateway), await createAccount(gateway), await createAccount(gateway)] as const;
    const [owner, trusted, guest] = people;
    const kept = await createAccount(gateway);
    await add(account, owner, 'owner');
    await add(app, trusted, 'viewer');
    await add(app, guest, 'maintainer');
    await add(app, kept, 'viewer');
    await give(owner, trusted, 'maintainer');
    await give(guest, kept, 'developer');
    await disconnect();
    assert.deepEqual(await Promise.all([trusted, guest, kept].map(roleOf)), ['maintainer', undefined, undefined]);
  });

  test('makes nobody agree to own an environment who had not before', async () => {
    for (const agrees of [false, true]) {
      const e = await begin();
      const other = await createAccount(gateway);
      await e.add(e.account, other, 'developer');
      await e.give(e.account, other, 'owner');
      if (agrees) await ok(other, 'POST', `${e.path}/members/me/accept`);
      const app = await letIn(gateway, other, scopes);
      await e.give(app, other, 'viewer');
      await ok(other, 'DELETE', `/v1/connections/${app.id}`);
      const { members } = await ok(e.account, 'GET', e.path);
      const { role, agreed_to_own: agreed } = members.find(
        ({ role: of }: { role: string }, at: number) => at > 0 && of,
      );
      assert.deepEqual([role, agreed], ['owner', agrees]);
    }
  });

  test('gives back what guests, or the app itself, took from the person, also where the guest went since', async () => {
    const lowered = await begin();
    const guests = [await createAccount(gateway), await createAccount(gateway)] as const;
    await lowered.add(lowered.app, guests[0], 'owner');
    await lowered.add(lowered.app, guests[1], 'owner');
    await lowered.give(guests[0], lowered.account, 'viewer');
    await lowered.remove(guests[0], lowered.account);
    await lowered.remove(guests[1], guests[0]);
    await lowered.disconnect();
    assert.deepEqual([await lowered.roleOf(lowered.account), await lowered.roleOf(guests[1])], ['owner', undefined]);

    const left = await begin();
    await left.add(left.app, guests[0], 'owner');
    await left.remove(left.app, left.account);
    await left.disconnect();
    assert.deepEqual([await left.roleOf(left.account), await left.roleOf(guests[0])], ['owner', undefined]);
  });

  test('leaves whom somebody else let in after the invitation of the app was over', async () => {
    const { account, id, path, app, add, give, roleOf, total, disconnect } = await begin();
    const [owner, late, sent] = [
      await createAccount(gateway),
      await createAccount(gateway),
      await createAccount(gateway),
    ];
    await add(account, owner, 'owner');
    const { sql } = gateway.kernel;
    await add(app, late, 'viewer', false);
    await sql`
      update environments.invitations set created_at = created_at - interval '31 days' where environment_id = ${id}`;
    await add(owner, late, 'developer');
    assert.equal(await total(), 0);
    // What waits goes with the role that let somebody send it, or in the night.
    await add(app, sent, 'viewer', false);
    await give(owner, account, 'viewer');
    assert.equal(await total(), 0);
    await give(owner, account, 'owner');
    await add(app, sent, 'viewer', false);
    await sql`
      update environments.invitations set created_at = created_at - interval '31 days' where environment_id = ${id}`;
    await job('environments.sweep');
    assert.equal(await total(), 0);
    await disconnect();
    assert.equal(await roleOf(late), 'developer');
    assert.equal((await ok(account, 'GET', path)).members.length, 3);
  });

  test('tells nothing of a no: not by what is listed, nor by what is withdrawn, nor by when it ends', async () => {
    const { account, id, path, app, add, total, disconnect } = await begin();
    const [silent, declines] = [await createAccount(gateway), await createAccount(gateway)];
    const seen = async () =>
      (await ok(account, 'GET', path)).members.map(({ email }: { email: string }) => email).toSorted();
    await add(app, silent, 'viewer', false);
    await add(app, declines, 'viewer', false);
    await ok(declines, 'DELETE', `${path}/members/${declines.id}`);
    const both = [account.email, declines.email, silent.email].toSorted();
    assert.deepEqual([await total(), await seen()], [2, both]);
    const { sql } = gateway.kernel;
    const age = (days: number) => sql`
      update environments.invitations set created_at = created_at - make_interval(days => ${days})
      where environment_id = ${id}`;
    await age(31);
    assert.deepEqual(await seen(), [account.email]);
    assert.equal((await ask(account, 'DELETE', `${path}/members/${declines.id}`)).status, 404);
    await age(-31);
    assert.equal(await disconnect(), 2);
    assert.deepEqual(await seen(), [account.email]);
    await add(account, declines, 'viewer', false);
    assert.deepEqual((await ok(declines, 'GET', '/v1/environments/invitations')).invitations, []);

    const again = await begin();
    await again.add(again.app, declines, 'viewer', false);
    await ok(declines, 'DELETE', `${again.path}/members/${declines.id}`);
    await sql`
      update environments.invitations set created_at = created_at - interval '31 days' where environment_id = ${again.id}`;
    await job('environments.sweep');
    assert.equal(await again.total(), 0);
  });

  test('counts none of what is gone: browsers that unsubscribed, were removed or forgotten, links that are over', async () => {
    const { account, app, total } = await begin();
    const { sql } = gateway.kernel;
    const subscribe = async () => {
      const endpoint = `https://127.0.0.1:9/${randomUUID()}`;
      const body = { endpoint, keys: newBrowser().json };
      return (await ok(app, 'POST', '/v1/push/subscriptions', body)).subscription as { id: string; endpoint: string };
    };
    const [first, second] = [await subscribe(), await subscribe()];
    const { transcript } = await ok(app, 'POST', '/v1/transcripts', { title: 'Talk' });
    await ok(app, 'POST', `/v1/transcripts/${transcript.id}/shares`, {});
    assert.equal(await total(), 3);
    await ok(account, 'DELETE', '/v1/push/subscriptions', { endpoint: first.endpoint });
    await ok(account, 'DELETE', `/v1/push/subscriptions/${second.id}`);
    await sql`update transcripts.shares set expires_at = now() - interval '8 days' where account_id = ${account.id}`;
    await job('transcripts.purge');
    assert.equal(await total(), 0);
    for (let n = 0; n < 51; n += 1) await subscribe();
    assert.equal(await total(), 50);
  });

  test('waits for nobody who waits for it: who holds an environment goes on to what is noted, and to budgets', async () => {
    const { account, id, path, app, add, disconnect } = await begin();
    const looker = await createAccount(gateway);
    const other = await environmentOf(gateway, account);
    await add(account, looker, 'viewer');
    await ok(account, 'POST', `/v1/environments/${other}/members`, { email: looker.email, role: 'viewer' });
    await ok(looker, 'POST', `/v1/environments/${other}/members/me/accept`, {});
    await ok(app, 'PUT', `${path}/ports/3000`, { visibility: 'public' });
    await ok(app, 'PUT', `/v1/environments/${other}/ports/3000`, { visibility: 'public' });
    const { sql, clock } = gateway.kernel;
    const last = [id, other].toSorted().at(-1) ?? '';
    const ended = await inTransaction(sql, async (tx) => {
      const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`
        select pg_backend_pid() as pid from environments.environments where id = ${last} for update`;
      const disconnected = disconnect();
      const isBlocked = async () =>
        (await sql`select from pg_stat_activity where ${pid}::int = any(pg_blocking_pids(pid))`).length > 0;
      await until(isBlocked);
      await takeBudget(tx, clock, rowsInOthers, account.id);
      await tx`delete from kernel.let_in where connection_id = ${app.id} and subject = ${`${last}/3000`}`;
      return { disconnected };
    });
    // What somebody made their own meanwhile stays.
    assert.equal(await ended.disconnected, 1);
    const ports = async (of: string) => (await ok(account, 'GET', `/v1/environments/${of}`)).ports.length as number;
    assert.deepEqual([await ports(last), await ports(last === id ? other : id)], [1, 0]);
  });

  test('is made up for in the night where a gateway of an earlier release ended the connection', async () => {
    const { account, app, add, roleOf } = await begin();
    const guest = await createAccount(gateway);
    await add(app, guest, 'developer');
    const { sql } = gateway.kernel;
    await sql`update connections.connections set ended_at = now() where id = ${app.id}`;
    await job('connections.forget');
    assert.deepEqual([await roleOf(guest), await roleOf(account)], [undefined, 'owner']);
    const left = await sql`select kind from kernel.let_in where connection_id = ${app.id}`;
    assert.deepEqual(
      left.map(({ kind }) => kind as string),
      ['ended'],
    );
  });

  test('switches a webhook off that was the person’s, and deletes one that was the app’s', async () => {
    const { account, app, disconnect } = await begin();
    const hooks = '/v1/notifications/webhooks';
    const make = ({ key }: { key: string }) => ok({ key }, 'POST', hooks, { name: 'Out', url: 'http://127.0.0.1:9/a' });
    const [own, ofApp] = [await make(account), await make(app)];
    for (const { id } of [own, ofApp]) await ok(app, 'PATCH', `${hooks}/${id}`, { url: 'http://127.0.0.1:9/b' });
    await disconnect();
    assert.equal((await ok(account, 'GET', `${hooks}/${own.id}`)).enabled, false);
    assert.equal((await ask(account, 'GET', `${hooks}/${ofApp.id}`)).status, 404);
  });
});
