import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import { shared } from '../../testing.shared.ts';
import { http, openHost, startGateway, until } from '../../testing.ts';
import { nodeOfTests, openSandboxes, type SandboxesTest } from '../sandboxes/sandboxes.testing.ts';
import { setSuspended, updateAccount } from './accounts.sql.ts';

const everySecond = {
  name: 'x',
  kind: 'agent',
  spec: { prompt: 'x' },
  trigger: { type: 'cron', expr: '* * * * * *' },
};

describe('an account that may not go on', () => {
  const { base, second } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const first = opening.use(await openSandboxes());
    const settings = { SVC_SANDBOXD_SOCKET: nodeOfTests() };
    const other = opening.use(await startGateway(first.database, { settings }));
    const stack = opening.move();
    return { base: first, second: other, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });
  const announce = ({ account }: SandboxesTest) =>
    base.gateway.kernel.gateways.announce(credentialsChanged, { accountId: account.id } satisfies CredentialChange);
  const stateOf = async (id: string) =>
    (await base.gateway.kernel.sql`select state from sandboxes.sandboxes where id = ${id}`)[0]?.['state'] as string;
  const runsOf = async ({ account }: SandboxesTest) =>
    (await base.gateway.kernel.sql`select 1 from scheduler.runs where account_id = ${account.id}`).length;
  const statuses = ({ account: { key } }: SandboxesTest) =>
    Promise.all(
      [base.gateway, second].map(async ({ url }) => {
        const { status, body } = await http(url, '/v1/sandboxes', { key });
        return `${status} ${body.error?.code ?? 'ok'}`;
      }),
    );
  const takes: Record<
    string,
    { take: (id: string) => Promise<unknown>; give: (id: string) => Promise<unknown>; code: string }
  > = {
    suspended: {
      take: (id) => setSuspended(base.gateway.kernel.sql, id, true),
      give: (id) => setSuspended(base.gateway.kernel.sql, id, false),
      code: '403 account_suspended',
    },
    'out of its subscription': {
      take: (id) => updateAccount(base.gateway.kernel.sql, id, { subscription: 'inactive' }),
      give: (id) => updateAccount(base.gateway.kernel.sql, id, { subscription: 'active' }),
      code: '402 subscription_inactive',
    },
  };

  for (const [what, { take, give, code }] of Object.entries(takes)) {
    test(`${what}: nothing of it runs, wakes or listens any more, on either gateway; once it may, it goes on`, async () => {
      const [t, spared] = [await base.fresh(), await base.fresh()];
      for (const each of [t, spared]) {
        assert.equal((await each.call('POST', '/v1/schedules', everySecond)).status, 201);
        await until(async () => (await runsOf(each)) > 1);
      }
      const idle = await t.create();
      await t.exec(idle, 'echo kept > kept');
      const v1 = await t.create({ backend: 'v1' });
      const busy = await t.create();
      const command = t.call('POST', `/v1/sandboxes/${busy.id}/exec`, {
        shell: 'touch begun; sleep 600',
        timeout_seconds: 700,
      });
      await until(async () => (await t.call('GET', `/v1/sandboxes/${busy.id}/files/begun`)).status !== 404);
      const kept = await spared.create();
      const host = await openHost(second, t.account);

      await take(t.account.id);
      await announce(t);
      assert.deepEqual(await statuses(t), [code, code]);
      await host.ended;
      await until(async () => (await stateOf(idle.id)) === 'paused');
      for (const { id } of [v1, busy]) await until(async () => (await stateOf(id)) === 'stopped');
      await command;
      const runs = await runsOf(t);
      const others = await runsOf(spared);
      await until(async () => (await runsOf(spared)) >= others + 3);
      assert.equal(await runsOf(t), runs);
      // Its slots are passed over: what is due and stays due would be looked at again and again.
      const { sql } = base.gateway.kernel;
      const due = async () =>
        (
          await sql`
        select 1 from schedules.schedules s where account_id = ${t.account.id} and next_run_at < now()`
        ).length;
      await until(async () => (await due()) === 0);
      assert.equal((await spared.exec(kept, 'echo here')).stdout, 'here\n');

      await give(t.account.id);
      await announce(t);
      assert.deepEqual(await statuses(t), ['200 ok', '200 ok']);
      await until(async () => (await runsOf(t)) > runs);
      assert.equal((await t.call('POST', `/v1/sandboxes/${idle.id}/resume`)).status, 200);
      assert.equal((await t.exec(idle, 'cat kept')).stdout, 'kept\n');
      for (const each of [t, spared]) await each.clear();
    });
  }
});
