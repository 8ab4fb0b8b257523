import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { byCommand, bySystem } from '../../../kernel/records/audit.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, openTest, type TestAccount } from '../../../testing.ts';
import { markDeleted } from '../../accounts/accounts.deletion.ts';
import { setSuspended } from '../../accounts/accounts.sql.ts';
import { Authenticator } from './authenticator.testing.ts';
import { Guesses } from './guesses.ts';
import {
  authenticationOptions,
  registerPasskey,
  registrationOptions,
  relyingParty,
  removePasskey,
  renamePasskey,
  signInByPasskey,
} from './passkeys.ts';
import { listPasskeys } from './passkeys.sql.ts';
import { sweepPeople } from './sweep.ts';

const page = 'http://localhost:8787';

describe('passkeys', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  const { gateway } = shared(() => openTest({ clock, settings: { SVC_AUTH_URL: 'http://127.0.0.1:8787/auth' } }));
  const add = async ({ id: accountId }: TestAccount, device = new Authenticator(page), unlike = {}) => {
    const options = await registrationOptions(gateway.kernel, { accountId });
    const response = device.create(options, unlike);
    const row = await registerPasskey(gateway.kernel, { accountId, response, name: 'Phone', by: bySystem });
    return { device, row, response };
  };
  const signIn = async (device: Authenticator, unlike = {}, accountId?: string) => {
    const options = await authenticationOptions(gateway.kernel, { ...(accountId !== undefined && { accountId }) });
    return signInByPasskey(gateway.kernel, {
      response: device.get(options, unlike),
      ...(accountId !== undefined && { accountId }),
    });
  };
  const list = ({ id }: TestAccount) => listPasskeys(gateway.kernel.sql, id);

  test('one that was made signs in without an address, and says when it was used last', async () => {
    const account = await createAccount(gateway);
    const options = await registrationOptions(gateway.kernel, { accountId: account.id });
    assert.deepEqual(
      [options.rp.id, options.user.name, options.attestation, options.authenticatorSelection],
      [
        'localhost',
        account.email,
        'none',
        { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      ],
    );
    assert.ok(options.pubKeyCredParams.some(({ alg }) => alg === -7));
    const { device, row } = await add(account);
    assert.deepEqual([row.name, row.transports, row.last_used_at], ['Phone', ['internal', 'hybrid'], null]);
    const asked = await authenticationOptions(gateway.kernel);
    assert.deepEqual(
      [asked.rpId, asked.userVerification, asked.allowCredentials],
      ['localhost', 'required', undefined],
    );
    assert.deepEqual(await signIn(device), { accountId: account.id, passkeyId: row.id });
    assert.deepEqual(await signIn(device, { origin: 'http://127.0.0.1:8787' }), {
      accountId: account.id,
      passkeyId: row.id,
    });
    assert.equal((await list(account))[0]?.last_used_at, new Date(clock.now()).toISOString());
  });

  test('the next one is told which there are, the same one is not taken twice', async () => {
    const account = await createAccount(gateway);
    const { device } = await add(account);
    const options = await registrationOptions(gateway.kernel, { accountId: account.id });
    assert.deepEqual(
      options.excludeCredentials?.map(({ id }) => id),
      [device.id.toString('base64url')],
    );
    await assert.rejects(add(account, device), { code: 'bad_request' });
    await assert.rejects(add(await createAccount(gateway), device), { code: 'bad_request' });
    assert.equal((await list(account)).length, 1);
  });

  test('an answer counts once, of two at once too, for its own account and purpose, and for five minutes', async () => {
    const [account, other] = [await createAccount(gateway), await createAccount(gateway)];
    const { device, response } = await add(account);
    const again = (accountId: string) =>
      registerPasskey(gateway.kernel, { accountId, response, name: '', by: bySystem });
    await assert.rejects(again(account.id), { code: 'bad_request' });
    const stolen = new Authenticator(page).create(await registrationOptions(gateway.kernel, { accountId: account.id }));
    const taken = registerPasskey(gateway.kernel, { accountId: other.id, response: stolen, name: '', by: bySystem });
    await assert.rejects(taken, { code: 'bad_request' });

    const answer = device.get(await authenticationOptions(gateway.kernel));
    const both = await Promise.all([1, 2].map(() => signInByPasskey(gateway.kernel, { response: answer })));
    assert.equal(both.filter((each) => each !== 'refused').length, 1);
    const late = device.get(await authenticationOptions(gateway.kernel));
    clock.leap(300_001);
    assert.equal(await signInByPasskey(gateway.kernel, { response: late }), 'refused');
    const mixed = device.get(await authenticationOptions(gateway.kernel));
    assert.equal(await signInByPasskey(gateway.kernel, { response: mixed, accountId: account.id }), 'refused');
    const registering = await registrationOptions(gateway.kernel, { accountId: account.id });
    const crossed = device.get(await authenticationOptions(gateway.kernel), { challenge: registering.challenge });
    assert.equal(await signInByPasskey(gateway.kernel, { response: crossed }), 'refused');
    await sweepPeople.run(gateway.kernel);
  });

  test('a fresh proof takes passkeys of its own account alone', async () => {
    const [account, other] = [await createAccount(gateway), await createAccount(gateway)];
    const [mine, theirs] = [await add(account), await add(other)];
    const asked = await authenticationOptions(gateway.kernel, { accountId: account.id });
    assert.deepEqual(
      asked.allowCredentials?.map(({ id }) => id),
      [mine.device.id.toString('base64url')],
    );
    assert.equal(await signIn(theirs.device, {}, account.id), 'refused');
    assert.deepEqual(await signIn(mine.device, {}, account.id), { accountId: account.id, passkeyId: mine.row.id });
  });

  test('another page, another host, a touch alone, a foreign handle, a wrong key, a counter that stands: refused', async () => {
    const account = await createAccount(gateway);
    const { device } = await add(account);
    await signIn(device, { counter: 7 });
    const handle = Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url');
    const faults: object[] = [
      { origin: 'http://localhost:8788' },
      { origin: 'https://localhost:8787' },
      { origin: 'http://evil.example' },
      { rpId: 'evil.example' },
      { unverified: true },
      { userHandle: handle },
      { counter: 7 },
      { counter: 6 },
      { counter: 0 },
      { challenge: 'x' },
    ];
    for (const unlike of faults) assert.equal(await signIn(device, unlike), 'refused', JSON.stringify(unlike));
    const forged = new Authenticator(page);
    const response = {
      ...forged.get(await authenticationOptions(gateway.kernel)),
      id: device.id.toString('base64url'),
    };
    const own = { ...response, rawId: response.id, response: { ...response.response, userHandle: '' } };
    assert.equal(await signInByPasskey(gateway.kernel, { response: own }), 'refused', 'another key');
    assert.equal(await signIn(forged), 'refused', 'unknown');
    for (const clientDataJSON of ['', 'bm8', 'e30', 'W10', 'bnVsbA']) {
      const broken = { ...own, response: { ...own.response, clientDataJSON } };
      assert.equal(await signInByPasskey(gateway.kernel, { response: broken }), 'refused', clientDataJSON);
    }
    assert.notEqual(await signIn(device, { counter: 8 }), 'refused');
    for (const unlike of faults.slice(0, 5)) {
      await assert.rejects(
        add(account, new Authenticator(page), unlike),
        { code: 'bad_request' },
        JSON.stringify(unlike),
      );
    }
    assert.equal((await list(account)).length, 1);
  });

  test('authenticators without a counter sign in again and again', async () => {
    const account = await createAccount(gateway);
    const { device } = await add(account, undefined, { counter: 0 });
    for (let i = 0; i < 3; i += 1) assert.notEqual(await signIn(device, { counter: 0 }), 'refused');
  });

  test('what an authenticator says of its maker is dropped unread; what is no answer of one is refused', async () => {
    const account = await createAccount(gateway);
    const { device } = await add(account, undefined, { attested: true });
    assert.notEqual(await signIn(device), 'refused');
    for (const attestationObject of [
      '',
      'oA',
      'AAAA',
      Buffer.from('a163666d74646e6f6e65', 'hex').toString('base64url'),
    ]) {
      const options = await registrationOptions(gateway.kernel, { accountId: account.id });
      const made = new Authenticator(page).create(options);
      const response = { ...made, response: { ...made.response, attestationObject } };
      const adding = registerPasskey(gateway.kernel, { accountId: account.id, response, name: '', by: bySystem });
      await assert.rejects(adding, { code: 'bad_request' }, attestationObject);
    }
  });

  test('the 21st is refused, before it is made and of several at once too', async () => {
    const account = await createAccount(gateway);
    for (let i = 0; i < 19; i += 1) await add(account);
    const made = [];
    for (let i = 0; i < 3; i += 1) {
      made.push(new Authenticator(page).create(await registrationOptions(gateway.kernel, { accountId: account.id })));
    }
    const added = await Promise.allSettled(
      made.map((response) =>
        registerPasskey(gateway.kernel, { accountId: account.id, response, name: '', by: bySystem }),
      ),
    );
    assert.equal(added.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await list(account)).length, 20);
    await assert.rejects(registrationOptions(gateway.kernel, { accountId: account.id }), { code: 'quota_exceeded' });
    const [first] = await list(account);
    await removePasskey(gateway.kernel, { accountId: account.id, id: first?.id as string, by: bySystem });
    await add(account);
  });

  test('is renamed and removed by its own account alone; one that was removed signs nobody in', async () => {
    const [account, other] = [await createAccount(gateway), await createAccount(gateway)];
    const { device, row } = await add(account);
    const whose = { id: row.id, by: bySystem };
    const foreign = { ...whose, accountId: other.id };
    await assert.rejects(renamePasskey(gateway.kernel, { ...foreign, name: 'x' }), { code: 'not_found' });
    await assert.rejects(removePasskey(gateway.kernel, foreign), { code: 'not_found' });
    await renamePasskey(gateway.kernel, { ...whose, accountId: account.id, name: 'ș'.repeat(200) });
    assert.equal((await list(account))[0]?.name, 'ș'.repeat(120));
    await removePasskey(gateway.kernel, { ...whose, accountId: account.id });
    assert.equal(await signIn(device), 'refused');
  });

  test('accounts that are suspended or being deleted are refused; guesses of passwords slow no passkey down', async () => {
    const account = await createAccount(gateway);
    const { device } = await add(account);
    for (let i = 0; i < 30; i += 1) {
      await new Guesses(gateway.kernel).begin({ accountId: account.id, email: '', network: `192.0.2.${i % 6}` });
    }
    assert.notEqual(await signIn(device), 'refused');
    await setSuspended(gateway.kernel.sql, account.id, true);
    assert.equal(await signIn(device), 'refused');
    await setSuspended(gateway.kernel.sql, account.id, false);
    assert.notEqual(await signIn(device), 'refused');
    await markDeleted(gateway.kernel, account.id, byCommand);
    assert.equal(await signIn(device), 'refused');
    await assert.rejects(registrationOptions(gateway.kernel, { accountId: account.id }), { code: 'not_found' });
  });

  test('100,000 challenges wait at most; the network that asked for most makes room, those that are over too', async () => {
    const { sql } = gateway.kernel;
    const own = await authenticationOptions(gateway.kernel, { network: '203.0.113.9' });
    await sql`
      insert into auth.challenges (hash, purpose, network, expires_at)
      select sha256(n::text::bytea), 'prove', '198.51.' || n % 200 || '.1',
        ${new Date(clock.now() + 1_000).toISOString()}::timestamptz
      from generate_series(1, 100000) as n`;
    await authenticationOptions(gateway.kernel, { network: '192.0.2.7' });
    const hash = createHash('sha256').update(Buffer.from(own.challenge, 'base64url')).digest();
    assert.equal((await sql`select 1 from auth.challenges where hash = ${hash}`).length, 1);
    const [held] = await sql<{ n: number }[]>`select count(*)::int as n from auth.challenges`;
    assert.ok((held?.n ?? 0) <= 100_000, `${held?.n}`);
    clock.leap(1_001);
    await authenticationOptions(gateway.kernel);
    await sweepPeople.run(gateway.kernel);
    const [row] = await sql<{ n: number }[]>`select count(*)::int as n from auth.challenges`;
    assert.ok((row?.n ?? 0) < 100, `${row?.n}`);
  });

  test('a challenge is kept as a hash', async () => {
    const { challenge } = await authenticationOptions(gateway.kernel);
    const hash = createHash('sha256').update(Buffer.from(challenge, 'base64url')).digest();
    assert.equal((await gateway.kernel.sql`select 1 from auth.challenges where hash = ${hash}`).length, 1);
  });

  test('belong to the host of the auth address; on this machine to localhost', () => {
    const of = (authUrl: string) => relyingParty({ authUrl });
    assert.deepEqual(of('https://svc.example.com/auth'), {
      id: 'svc.example.com',
      origins: ['https://svc.example.com'],
    });
    const near = { id: 'localhost', origins: ['http://127.0.0.1:8787', 'http://localhost:8787'] };
    assert.deepEqual(of('http://127.0.0.1:8787/auth'), near);
    assert.deepEqual(of('http://localhost/auth'), { id: 'localhost', origins: ['http://localhost'] });
    assert.deepEqual(of('http://[::1]:9/auth').id, 'localhost');
  });
});
