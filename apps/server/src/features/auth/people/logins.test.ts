import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import { credentialsChanged } from '../../../kernel/mount/access.ts';
import { shared } from '../../../testing.shared.ts';
import { contract } from '@svc/contract';
import { createAccount, openTest, type TestAccount, type TestGateway, until } from '../../../testing.ts';
import { setSuspended } from '../../accounts/accounts.sql.ts';
import { Connections } from '../../connections/index.ts';
import { createKeyLookup } from '../../keys/keys.lookup.ts';
import { authFeature } from '../feature.ts';
import { createLoginLookup } from './logins.lookup.ts';
import { listLogins, renameLogin } from './logins.sql.ts';
import { createLogin, endLogin, endLogins, findLapsedLogins, freshenLogin, renewLogin } from './logins.ts';
import { newSecret } from './secrets.ts';
import { sweepPeople } from './sweep.ts';

const day = 86_400_000;

const signIn = ({ kernel }: TestGateway, { id: accountId }: TestAccount, network = '192.0.2.7') =>
  createLogin(kernel, { accountId, amr: ['pwd'], name: 'Firefox', platform: 'Linux', network, by: bySystem });

describe('logins', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  const { gateway } = shared(() => openTest({ clock }));
  const find = (token: string) => createLoginLookup(gateway.kernel).authenticate(token);
  const list = ({ id }: TestAccount) => listLogins(gateway.kernel.sql, clock, id);

  test('a token says whose login it is, since when, and what the account may do', async () => {
    const account = await createAccount(gateway);
    const { id, token, expiresAt } = await signIn(gateway, account);
    assert.equal(expiresAt, new Date(clock.now() + 90 * day).toISOString());
    assert.deepEqual(await find(token), {
      loginId: id,
      accountId: account.id,
      authTime: clock.now(),
      amr: ['pwd'],
      expiresAt: new Date(clock.now() + 30 * day).toISOString(),
      subscription: 'active',
      suspended: false,
      operator: false,
      toolLevel: 'l3_sandbox',
      features: {},
    });
    const [row] = await list(account);
    assert.deepEqual([row?.id, row?.name, row?.platform, row?.network], [id, 'Firefox', 'Linux', '192.0.2.7']);
    assert.equal(await renameLogin(gateway.kernel.sql, clock, account.id, id, 'Laptop'), true);
    assert.equal(await renameLogin(gateway.kernel.sql, clock, randomUUID(), id, 'Mine'), false);
    assert.equal((await list(account))[0]?.name, 'Laptop');
  });

  test('a token that was offered last counts beside the former one until its first use, however late', async () => {
    const account = await createAccount(gateway);
    const { id: loginId, token: former } = await signIn(gateway, account);
    const offer = (shown: string) => renewLogin(gateway.kernel, gateway.kernel.sql, { loginId, shown });
    const counting = async (...tokens: string[]) => {
      const found: boolean[] = [];
      for (const token of tokens) found.push((await find(token))?.loginId === loginId);
      return found;
    };
    // Who copied the cookie may have asked for the first.
    const before = await offer(former);
    const taken = await offer(former);
    assert.deepEqual(await counting(before, former, taken), [false, true, true]);
    assert.deepEqual(await counting(former, before, taken), [false, false, true]);
    // A gateway that heard nothing of it ends what is open by the former one.
    const lapsed = () => findLapsedLogins(gateway.kernel.sql, gateway.kernel, [loginId]);
    assert.deepEqual(await lapsed(), [loginId]);
    clock.advance(120_001);
    assert.deepEqual(await lapsed(), []);
    // A request that began with the former one and ends now.
    await assert.rejects(offer(former), { code: 'invalid_api_key' });
    const late = await offer(taken);
    clock.advance(day + 1_000);
    assert.deepEqual(await counting(late, taken), [true, false]);
    await endLogin(gateway.kernel, { accountId: account.id, loginId, by: bySystem });
    await assert.rejects(offer(late), { code: 'invalid_api_key' });
  });

  test('it is as old as the proof that it comes from, and never from a time to come', async () => {
    const { id: accountId } = await createAccount(gateway);
    const made = { accountId, amr: ['pwd'], name: '', platform: '', network: '', by: bySystem };
    for (const [age, seen] of [
      [3_600_000, 3_600_000],
      [-60_000, 0],
    ] as const) {
      const { token } = await createLogin(gateway.kernel, { ...made, authTime: clock.now() - age });
      assert.equal((await find(token))?.authTime, clock.now() - seen);
    }
  });

  test('a text that is no token costs no query, an unknown one is nobody', async () => {
    const lookup = createLoginLookup(gateway.kernel);
    for (const text of ['', 'x', `${newSecret()}=`, newSecret().slice(1), 'ș'.repeat(43)]) {
      assert.equal(lookup.authenticate(text), undefined, text);
    }
    assert.equal(await lookup.authenticate(newSecret()), undefined);
  });

  test('it ends 30 days after its last use, and 90 days after it was made, used or not', async () => {
    const account = await createAccount(gateway);
    const [idle, used] = [await signIn(gateway, account), await signIn(gateway, account)];
    for (let days = 29; days < 90; days += 29) {
      clock.leap(29 * day);
      assert.equal((await find(used.token))?.loginId, used.id, `${days}`);
      // Noted after the answer.
      await until(async () => (await list(account)).some(({ last_seen_at: at }) => Date.parse(at) === clock.now()));
      if (days === 58) assert.equal(await find(idle.token), undefined);
    }
    assert.equal((await list(account))[0]?.expires_at, new Date(Date.parse(used.expiresAt)).toISOString());
    clock.leap(4 * day);
    assert.equal(await find(used.token), undefined);
    assert.equal((await list(account)).length, 0);
    assert.deepEqual(await findLapsedLogins(gateway.kernel.sql, gateway.kernel, [used.id]), [used.id]);
    clock.leap(30 * day);
    await sweepPeople.run(gateway.kernel);
    const rows = await gateway.kernel.sql`select 1 from auth.logins where account_id = ${account.id}`;
    assert.equal(rows.length, 0, 'forgotten');
  });

  test('what a browser sends by itself is no use: nobody stays signed in by the pushes that come', async () => {
    const account = await createAccount(gateway);
    const { id, token } = await signIn(gateway, account);
    clock.leap(29 * day);
    assert.equal((await createLoginLookup(gateway.kernel).authenticate(token, false))?.loginId, id);
    clock.leap(2 * day);
    assert.equal(await find(token), undefined);
    const bySelf = Object.values(contract)
      .flatMap(Object.entries)
      .filter(([, route]) => route.isUnattended);
    assert.deepEqual(
      bySelf.map(([name]) => name),
      ['pushDelivered'],
    );
  });

  test('the 51st ends the one that was not seen for longest, and the rows of ended ones are bounded', async () => {
    const account = await createAccount(gateway);
    const made = [];
    for (let i = 0; i < 51; i += 1) {
      made.push(await signIn(gateway, account));
      clock.advance(1_000);
    }
    assert.equal(await find(made[0]?.token as string), undefined);
    assert.equal((await find(made[1]?.token as string))?.loginId, made[1]?.id);
    await Promise.all(Array.from({ length: 8 }, () => signIn(gateway, account)));
    assert.equal((await list(account)).length, 50);
    for (let i = 0; i < 110; i += 1) await signIn(gateway, account);
    const [row] = await gateway.kernel.sql<{ n: number }[]>`
      select count(*)::int as n from auth.logins where account_id = ${account.id}`;
    assert.equal(row?.n, 150);
  });

  test('an account that is suspended, being deleted or gone cannot sign in', async () => {
    const account = await createAccount(gateway);
    await setSuspended(gateway.kernel.sql, account.id, true);
    await assert.rejects(signIn(gateway, account), { code: 'account_suspended' });
    await assert.rejects(signIn(gateway, { ...account, id: randomUUID() }), { code: 'account_suspended' });
    await setSuspended(gateway.kernel.sql, account.id, false);
    await signIn(gateway, account);
  });

  test('a fresh proof is known by the next request; one that ended takes none', async () => {
    const account = await createAccount(gateway);
    const { id: loginId, token } = await signIn(gateway, account);
    clock.leap(600_000);
    const proof = { accountId: account.id, loginId, amr: ['hwk', 'user'], by: bySystem };
    assert.equal(await freshenLogin(gateway.kernel, proof), clock.now());
    const found = await find(token);
    assert.deepEqual([found?.authTime, found?.amr], [clock.now(), ['hwk', 'user']]);
    assert.equal(await freshenLogin(gateway.kernel, { ...proof, accountId: randomUUID() }), undefined);
    await endLogin(gateway.kernel, { ...proof });
    assert.equal(await freshenLogin(gateway.kernel, proof), undefined);
  });

  test('one, all others or all of an account end; nobody ends those of others; each has its line in the audit log', async () => {
    const [account, other] = [await createAccount(gateway), await createAccount(gateway)];
    const [mine, theirs] = [[], []] as [Awaited<ReturnType<typeof signIn>>[], Awaited<ReturnType<typeof signIn>>[]];
    for (let i = 0; i < 4; i += 1) mine.push(await signIn(gateway, account));
    theirs.push(await signIn(gateway, other));
    const [first, second, third] = mine.map(({ id }) => id) as [string, string, string];
    const ending = { accountId: account.id, by: bySystem };
    assert.equal(await endLogin(gateway.kernel, { accountId: other.id, by: bySystem, loginId: first }), false);
    assert.equal(await endLogin(gateway.kernel, { ...ending, loginId: first }), true);
    assert.equal(await endLogin(gateway.kernel, { ...ending, loginId: first }), false);
    assert.equal(await endLogins(gateway.kernel, { ...ending, except: second }), 2);
    assert.deepEqual(await findLapsedLogins(gateway.kernel.sql, gateway.kernel, [first, second, third]), [
      first,
      third,
    ]);
    assert.equal(await endLogins(gateway.kernel, ending), 1);
    assert.equal((await list(account)).length, 0);
    assert.equal((await list(other)).length, 1);
    const lines = await gateway.kernel.sql<{ action: string }[]>`
      select action from kernel.audit where account_id = ${account.id} and action like 'auth.%'`;
    const count = (action: string): number => lines.filter((line) => line.action === action).length;
    assert.deepEqual([count('auth.signIn'), count('auth.signOut')], [4, 4]);
  });

  test('what is ended in a transaction that fails goes on', async () => {
    const account = await createAccount(gateway);
    const { token } = await signIn(gateway, account);
    const failing = inTransaction(gateway.kernel.sql, async (tx) => {
      assert.equal(await endLogins(gateway.kernel, { accountId: account.id, by: bySystem, tx }), 1);
      throw new Error('no');
    });
    await assert.rejects(failing, /no/);
    assert.ok(await find(token));
  });
});

describe('logins over two gateways', () => {
  const { gateway, second, account } = shared(() => openTest({ gateways: 2 }));

  /** The look-up of a gateway, as its feature starts it, used until it answers from memory. */
  async function warm({ kernel }: TestGateway, token: string) {
    const lookup = createKeyLookup(kernel);
    const feature = authFeature(kernel, { connections: new Connections(kernel), lookup });
    await feature.start?.(kernel, { serves: true, works: true, relays: true });
    await until(() => kernel.gateways.cachesAreTrusted());
    await feature.logins.authenticate(token);
    assert.ok(!(feature.logins.authenticate(token) instanceof Promise), 'from memory');
    return feature.logins;
  }

  test('one that ends at one gateway is refused at the other at once, and the others go on from memory', async () => {
    const [one, other] = [await signIn(gateway, account), await signIn(gateway, account)];
    const [here, there] = [await warm(gateway, one.token), await warm(second, one.token)];
    await there.authenticate(other.token);
    await endLogin(gateway.kernel, { accountId: account.id, loginId: one.id, by: bySystem });
    assert.deepEqual([await here.authenticate(one.token), await there.authenticate(one.token)], [undefined, undefined]);
    assert.equal((there.authenticate(other.token) as { loginId: string }).loginId, other.id);
  });

  test('all of them end at once, a suspension is seen by the next request, and many at once are one load', async () => {
    const logins = [];
    for (let i = 0; i < 25; i += 1) logins.push(await signIn(gateway, account));
    const first = logins[0]?.token as string;
    const there = await warm(second, first);
    await setSuspended(gateway.kernel.sql, account.id, true);
    await gateway.kernel.gateways.announce(credentialsChanged, { accountId: account.id });
    const asked = Array.from({ length: 5 }, () => there.authenticate(first));
    assert.equal(new Set(asked).size, 1, 'one load');
    assert.equal((await asked[0])?.suspended, true);
    await setSuspended(gateway.kernel.sql, account.id, false);
    await endLogins(gateway.kernel, { accountId: account.id, by: bySystem });
    for (const { token } of logins) assert.equal(await there.authenticate(token), undefined);
  });
});
