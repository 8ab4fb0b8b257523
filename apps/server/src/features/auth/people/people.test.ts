import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createKeyring } from '../../../kernel/base/crypto.ts';
import type { Sql } from '../../../kernel/db/db.ts';
import { byCommand, bySystem } from '../../../kernel/records/audit.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, masterKey, openTest, type TestAccount } from '../../../testing.ts';
import { deleteMarked, markDeleted } from '../../accounts/accounts.deletion.ts';
import { createOwner } from '../../keys/index.ts';
import { accountData } from '../../../features.ts';
import { authManifest } from '../index.ts';
import { Authenticator } from './authenticator.testing.ts';
import { createMailCode, makeRecoveryCodes, useMailCode, useRecoveryCode } from './codes.ts';
import { Guesses } from './guesses.ts';
import { PasswordHashing } from './hashing.ts';
import { createLink, takeOpenLink } from './links.ts';
import { createLoginLookup } from './logins.lookup.ts';
import { createLogin } from './logins.ts';
import { authenticationOptions, registerPasskey, registrationOptions } from './passkeys.ts';
import { setPassword, signInByPassword } from './passwords.ts';
import { claimPhoneLink, createPhoneLink } from './phones.ts';

const page = 'http://localhost:8787';
const password = 'three purple kettles';
const device = { name: 'Safari', platform: 'iOS', network: '192.0.2.7' };

describe('credentials of people', () => {
  const { gateway } = shared(() => openTest({ settings: { SVC_AUTH_URL: `${page}/auth` } }));

  /** Something of every kind, and what was given out with it. */
  async function fill({ id: accountId, email }: TestAccount) {
    const { kernel } = gateway;
    const by = bySystem;
    await setPassword({ ...kernel, hashing: new PasswordHashing() }, { accountId, password, by });
    const response = new Authenticator(page).create(await registrationOptions(kernel, { accountId }));
    await registerPasskey(kernel, { accountId, response, name: 'Phone', by });
    const { challenge } = await authenticationOptions(kernel, { accountId });
    await kernel.sql`insert into auth.records (model, id_hash, account_id, payload)
      values ('Session', decode(md5(${accountId}), 'hex'), ${accountId}, '\\x01')`;
    const login = await createLogin(kernel, { accountId, amr: ['pwd'], by, ...device });
    const recovery = await makeRecoveryCodes(kernel, { accountId, by });
    const setup = await createLink(kernel, { purpose: 'setup', accountId, by });
    const invite = await createLink(kernel, { purpose: 'invite', email: email.toUpperCase(), by });
    const mail = await createMailCode(kernel, { email, purpose: 'sign-in', accountId });
    const phone = await createPhoneLink(kernel, { accountId, loginId: login.id, by });
    const waiting = await createPhoneLink(kernel, { accountId, loginId: login.id, by });
    const claimed = await claimPhoneLink(kernel, { token: waiting.token }, device);
    await new Guesses(kernel).begin({ accountId, email, network: '192.0.2.7' });
    const both = (code: string): string[] => [code, code.replace('-', '')];
    const given = [password, challenge, login.token, setup.token, invite.token, mail.code, claimed?.claim as string];
    const ofPhones = [phone, waiting].flatMap(({ token, code }) => [token, ...both(code)]);
    const secrets = given.concat(ofPhones, recovery.flatMap(both));
    return { login, recovery, setup, mail, phone, secrets };
  }

  async function tables(sql: Sql): Promise<string[]> {
    const rows = await sql<{ name: string }[]>`
      select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;
    return rows.map(({ name }) => name);
  }

  async function dump(sql: Sql): Promise<string> {
    const all: string[] = [];
    for (const name of await tables(sql)) {
      const rows = await sql.unsafe<{ row: string }[]>(`select x::text as row from ${name} x`);
      all.push(...rows.map(({ row }) => row));
    }
    return all.join('\n');
  }

  test('a dump of the database holds nothing that was given out', async () => {
    const { secrets } = await fill(await createAccount(gateway));
    await gateway.kernel.audit.flush();
    const text = await dump(gateway.kernel.sql);
    assert.ok(text.includes('argon2id') && secrets.length > 20);
    for (const secret of secrets) {
      const forms = [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')];
      if (secret.length === 43) forms.push(Buffer.from(secret, 'base64url').toString('hex'));
      for (const form of forms) assert.ok(!text.includes(form), `a secret of ${secret.length} signs`);
    }
  });

  test('a rotation of the master key keeps passwords, logins, links and codes', async () => {
    const account = await createAccount(gateway);
    const { login, recovery, setup, mail, phone } = await fill(account);
    const { email } = account;
    const kernel = { ...gateway.kernel, keyring: createKeyring('another master key, 32+ characters!!', masterKey) };
    const parts = { ...kernel, hashing: new PasswordHashing(), guesses: new Guesses(kernel) };
    const who = { accountId: account.id };
    assert.deepEqual(await signInByPassword(parts, { email, password, network: '192.0.2.9' }), who);
    assert.equal((await createLoginLookup(kernel).authenticate(login.token))?.loginId, login.id);
    assert.deepEqual(await useRecoveryCode(kernel, { email, code: recovery[9] as string }), who);
    assert.deepEqual(await useMailCode(kernel, { ...mail, email, purpose: 'sign-in' }), who);
    assert.equal((await takeOpenLink(kernel, { purpose: 'setup', token: setup.token }))?.accountId, account.id);
    assert.ok(await claimPhoneLink(kernel, { code: phone.code }, device));
  });

  test('the deletion of an account leaves nothing of it, and all of others', async () => {
    const [account, spared] = [await createAccount(gateway), await createAccount(gateway)];
    const { sql } = gateway.kernel;
    await fill(account);
    const kept = await fill(spared);
    const counts = async ({ id }: TestAccount) =>
      Promise.all(
        (authManifest.data?.tables ?? []).map(async (name) => {
          const [row] = await sql.unsafe<{ n: number }[]>(
            `select count(*)::int as n from ${name} where account_id = $1`,
            [id],
          );
          return row?.n ?? 0;
        }),
      );
    const before = await counts(spared);
    assert.ok(
      (await counts(account)).every((n) => n > 0),
      'something in every table',
    );
    await markDeleted(gateway.kernel, account.id, byCommand);
    await deleteMarked(gateway.kernel, accountData, { accountId: account.id, email: account.email }, byCommand);
    assert.deepEqual([...new Set(await counts(account))], [0]);
    assert.equal((await dump(sql)).toLowerCase().includes(account.email), false);
    assert.deepEqual(await counts(spared), before);
    assert.ok(await createLoginLookup(gateway.kernel).authenticate(kept.login.token));
  });

  test('the tables of the feature with accounts are those that a deletion empties', async () => {
    const own = await gateway.kernel.sql<{ name: string }[]>`
      select format('auth.%I', table_name) as name from information_schema.columns
      join information_schema.tables using (table_schema, table_name)
      where table_schema = 'auth' and table_type = 'BASE TABLE' and column_name = 'account_id'`;
    assert.deepEqual(own.map(({ name }) => name).sort(), [...(authManifest.data?.tables ?? [])].sort());
  });
});

describe('the first account', () => {
  test('is of the operator, and no other one is', async () => {
    await using t = await openTest();
    const { sql } = t.gateway.kernel;
    await sql`delete from keys.keys`;
    await sql`delete from accounts.accounts`;
    assert.ok(await createOwner(t.gateway.kernel));
    await createAccount(t.gateway);
    const rows = await sql<{ email: string; operator: boolean }[]>`
      select a.email, s.operator from accounts.accounts a join accounts.standing_view s on s.id = a.id order by a.created_at`;
    assert.deepEqual(
      rows.map(({ operator }) => operator),
      [true, false],
    );
  });
});
