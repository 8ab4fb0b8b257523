import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { byCommand, bySystem } from '../../../kernel/records/audit.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, openTest, type TestAccount } from '../../../testing.ts';
import { markDeleted } from '../../accounts/accounts.deletion.ts';
import { setSuspended } from '../../accounts/accounts.sql.ts';
import { countRecoveryCodes, createMailCode, makeRecoveryCodes, useMailCode, useRecoveryCode } from './codes.ts';
import { createLink, endLinks, lookAtLink, takeOpenLink } from './links.ts';
import { createLogin } from './logins.ts';
import { claimPhoneLink, confirmPhone, createPhoneLink, finishPhone, phoneState } from './phones.ts';
import { sweepPeople } from './sweep.ts';

const minute = 60_000;
const day = 1_440 * minute;

describe('links', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  const { gateway } = shared(() => openTest({ clock }));
  const make = ({ id: accountId }: TestAccount, purpose: 'setup' | 'recover' = 'setup', byHand = false) =>
    createLink(gateway.kernel, { purpose, accountId, byHand, by: bySystem });
  const look = (token: string, purpose: 'setup' | 'invite' | 'recover' = 'setup') =>
    lookAtLink(gateway.kernel, { purpose, token });
  const take = (token: string, purpose: 'setup' | 'invite' | 'recover' = 'setup') =>
    takeOpenLink(gateway.kernel, { purpose, token });

  test('one is looked at as often as one likes, and used once: of ten at once one gets it', async () => {
    const account = await createAccount(gateway);
    const { token, id } = await make(account);
    for (let i = 0; i < 3; i += 1) assert.equal((await look(token))?.accountId, account.id);
    const taken = await Promise.all(Array.from({ length: 10 }, () => take(token)));
    assert.deepEqual(
      taken.filter((each) => each !== undefined).map((each) => each.id),
      [id],
    );
    assert.deepEqual([await look(token), await take(token)], [undefined, undefined]);
  });

  test('unknown, over, used, ended, of another purpose, of an account that goes: one answer', async () => {
    const [account, leaving] = [await createAccount(gateway), await createAccount(gateway)];
    const { token } = await make(account);
    for (const wrong of ['', 'x', token.slice(1), `${token.slice(1)}A`, randomUUID()]) {
      assert.deepEqual([await look(wrong), await take(wrong)], [undefined, undefined], wrong);
    }
    assert.deepEqual([await look(token, 'recover'), await take(token, 'invite')], [undefined, undefined]);
    assert.ok(await look(token), 'a try for another purpose uses nothing up');
    assert.equal(await endLinks(gateway.kernel, { accountId: account.id, by: bySystem }), 1);
    assert.deepEqual([await look(token), await take(token)], [undefined, undefined]);
    const theirs = await make(leaving);
    await markDeleted(gateway.kernel, leaving.id, byCommand);
    assert.deepEqual([await look(theirs.token), await take(theirs.token)], [undefined, undefined]);
    await assert.rejects(make(leaving), { code: 'not_found' });
  });

  test('lives are 24 h to set up, 7 days for an invitation, 30 min to recover by mail and 24 h by hand', async () => {
    const account = await createAccount(gateway);
    const invite = () => createLink(gateway.kernel, { purpose: 'invite', email: 'new@example.test', by: bySystem });
    const cases = [
      ['setup', await make(account), day],
      ['invite', await invite(), 7 * day],
      ['recover', await make(account, 'recover'), 30 * minute],
      ['recover', await make(account, 'recover', true), day],
    ] as const;
    const begun = clock.now();
    for (const [purpose, { token }, life] of cases.toSorted((a, b) => a[2] - b[2])) {
      clock.leap(begun + life - 1 - clock.now());
      assert.ok(await look(token, purpose), `${purpose} ${life}`);
      clock.leap(1);
      assert.equal(await take(token, purpose), undefined, `${purpose} ${life}`);
    }
    clock.leap(day + 1);
    await sweepPeople.run(gateway.kernel);
    assert.equal(
      (
        await gateway.kernel
          .sql`select 1 from auth.links where expires_at < ${new Date(clock.now() - day).toISOString()}`
      ).length,
      0,
    );
  });

  test('the 6th of a purpose ends the oldest; mail that a stranger asks for ends no other link', async () => {
    const account = await createAccount(gateway);
    const setup = await make(account);
    const byHand = await make(account, 'recover', true);
    const made = [];
    for (let i = 0; i < 6; i += 1) {
      made.push(await make(account, 'recover'));
      clock.leap(1);
    }
    for (let i = 0; i < 6; i += 1) {
      await createMailCode(gateway.kernel, { email: account.email, purpose: 'sign-in', accountId: account.id });
    }
    const open = await Promise.all(made.map(({ token }) => look(token, 'recover')));
    assert.deepEqual(
      open.map((each) => each !== undefined),
      [false, true, true, true, true, true],
    );
    assert.ok((await look(setup.token)) && (await look(byHand.token, 'recover')));
    await Promise.all(Array.from({ length: 8 }, () => make(account)));
    const [row] = await gateway.kernel.sql<{ n: number }[]>`
      select count(*)::int as n from auth.links where account_id = ${account.id} and purpose = 'setup'`;
    assert.equal(row?.n, 5);
    const [mails] = await gateway.kernel.sql<{ n: number }[]>`
      select count(*)::int as n from auth.links where account_id = ${account.id} and purpose = 'mail'`;
    assert.equal(mails?.n, 5, 'no row is left of what was asked for before');
  });

  test('what it is for is answered with it, and what fails leaves it open', async () => {
    const account = await createAccount(gateway);
    const details = { operator: true, name: 'Ana' };
    const { token } = await createLink(gateway.kernel, {
      purpose: 'invite',
      email: 'Ana@example.test',
      details,
      by: bySystem,
    });
    assert.deepEqual((await look(token, 'invite'))?.details, details);
    const failing = inTransaction(gateway.kernel.sql, async (tx) => {
      const link = await takeOpenLink(gateway.kernel, { purpose: 'invite', token, by: bySystem, tx });
      assert.equal(link?.email, 'Ana@example.test');
      throw new Error('no');
    });
    await assert.rejects(failing, /no/);
    assert.ok(await take(token, 'invite'));
    await assert.rejects(make({ ...account, id: randomUUID() }), { code: 'not_found' });
  });
});

describe('a phone', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  const { gateway, account } = shared(() => openTest({ clock }));
  const device = { name: 'Safari', platform: 'iOS', network: '192.0.2.7' };
  const make = async () => {
    const { id: loginId } = await createLogin(gateway.kernel, {
      accountId: account.id,
      amr: ['pwd'],
      ...device,
      by: bySystem,
    });
    return createPhoneLink(gateway.kernel, { accountId: account.id, loginId, by: bySystem });
  };
  const confirm = (id: string, number: number, accountId = account.id) =>
    confirmPhone(gateway.kernel, { accountId, id, number, by: bySystem });
  const state = async (id: string) => (await phoneState(gateway.kernel, { accountId: account.id, id }))?.state;

  test('signs in once the number on its screen was picked at the signed-in device', async () => {
    const link = await make();
    assert.match(link.code, /^[A-HJ-NP-Z]{4}-[A-HJ-NP-Z]{4}$/);
    assert.equal(await state(link.id), 'open');
    const claimed = await claimPhoneLink(gateway.kernel, { token: link.token }, device);
    assert.ok(claimed && claimed.number >= 10 && claimed.number <= 99);
    const seen = await phoneState(gateway.kernel, { accountId: account.id, id: link.id });
    assert.ok(seen?.state === 'claimed' && seen.numbers.includes(claimed.number) && new Set(seen.numbers).size === 3);
    assert.deepEqual(seen.phone, device);
    assert.equal(await finishPhone(gateway.kernel, { claim: claimed.claim }), 'waiting');
    assert.equal(await confirm(link.id, claimed.number, randomUUID()), undefined);
    assert.equal(await confirm(link.id, claimed.number), true);
    assert.equal(await state(link.id), 'confirmed');
    const both = await Promise.all([1, 2].map(() => finishPhone(gateway.kernel, { claim: claimed.claim })));
    const finished = both.filter((each) => each !== undefined && each !== 'waiting');
    assert.deepEqual(finished, [{ accountId: account.id, linkId: link.id, provedAt: clock.now() }]);
    assert.equal(await finishPhone(gateway.kernel, { claim: claimed.claim }), undefined);
    assert.equal(await state(link.id), 'used');
  });

  test('takes a link by its code, however it is typed, and once: of ten at once one gets it', async () => {
    const { code, token } = await make();
    const typed = { code: ` ${code.toLowerCase().replace('-', ' ')} ` };
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, at) => claimPhoneLink(gateway.kernel, at % 2 ? typed : { token }, device)),
    );
    assert.equal(claims.filter((each) => each !== undefined).length, 1);
    assert.equal(await claimPhoneLink(gateway.kernel, { code: 'ABCD-EFGH' }, device), undefined);
    assert.equal(await claimPhoneLink(gateway.kernel, { token: 'x' }, device), undefined);
  });

  test('a wrong number ends it, and five minutes do', async () => {
    const link = await make();
    const claimed = await claimPhoneLink(gateway.kernel, { token: link.token }, device);
    assert.equal(await confirm(link.id, 100), false);
    assert.equal(await confirm(link.id, claimed?.number as number), undefined);
    assert.equal(await finishPhone(gateway.kernel, { claim: claimed?.claim as string }), undefined);
    assert.equal(await state(link.id), undefined);
    const late = await make();
    assert.equal(await confirm(late.id, 10), undefined, 'nobody took it');
    clock.leap(5 * minute);
    assert.equal(await claimPhoneLink(gateway.kernel, { token: late.token }, device), undefined);
    assert.equal(await state(late.id), undefined);
  });

  test('its link is none to set up or recover with', async () => {
    const { token } = await make();
    for (const purpose of ['setup', 'invite', 'recover'] as const) {
      assert.equal(await takeOpenLink(gateway.kernel, { purpose, token }), undefined);
    }
    const setup = await createLink(gateway.kernel, { purpose: 'setup', accountId: account.id, by: bySystem });
    assert.equal(await claimPhoneLink(gateway.kernel, { token: setup.token }, device), undefined);
  });
});

describe('codes', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  const { gateway } = shared(() => openTest({ clock }));
  const make = ({ id: accountId }: TestAccount) => makeRecoveryCodes(gateway.kernel, { accountId, by: bySystem });
  const recover = (email: string, code: string) => useRecoveryCode(gateway.kernel, { email, code });
  const left = ({ id }: TestAccount) => countRecoveryCodes(gateway.kernel.sql, id);

  test('ten recovery codes, each of which counts once however it is typed: of ten at once one gets in', async () => {
    const account = await createAccount(gateway);
    const codes = await make(account);
    assert.equal(new Set(codes).size, 10);
    for (const code of codes) assert.match(code, /^[A-HJ-NP-Z2-9]{5}-[A-HJ-NP-Z2-9]{5}$/);
    const [first = '', second = ''] = codes;
    const all = await Promise.all(Array.from({ length: 10 }, () => recover(account.email, first)));
    assert.deepEqual(
      all.filter((each) => each !== undefined),
      [{ accountId: account.id }],
    );
    assert.ok(await recover(account.email.toUpperCase(), ` ${second.toLowerCase().replace('-', ' ')}`));
    assert.equal(await left(account), 8);
  });

  test('wrong, used, of another account, of nobody, of an account that may not sign in: one answer, and nothing is used up', async () => {
    const [account, other] = [await createAccount(gateway), await createAccount(gateway)];
    const [code = ''] = await make(account);
    assert.equal(await recover(other.email, code), undefined);
    assert.equal(await recover('nobody@example.test', code), undefined);
    assert.equal(await recover(account.email, 'ABCDE-FGHJK'), undefined);
    await setSuspended(gateway.kernel.sql, account.id, true);
    assert.equal(await recover(account.email, code), undefined);
    await setSuspended(gateway.kernel.sql, account.id, false);
    assert.ok(await recover(account.email, code));
    assert.equal(await recover(account.email, code), undefined);
  });

  test('new ones take the place of the old, of two made at once too', async () => {
    const account = await createAccount(gateway);
    const [old = ''] = await make(account);
    const [one, other] = await Promise.all([make(account), make(account)]);
    assert.equal(await left(account), 10);
    assert.equal(await recover(account.email, old), undefined);
    const good = [await recover(account.email, one[0] ?? ''), await recover(account.email, other[0] ?? '')];
    assert.equal(good.filter((each) => each !== undefined).length, 1);
    await assert.rejects(makeRecoveryCodes(gateway.kernel, { accountId: randomUUID(), by: bySystem }), {
      code: 'not_found',
    });
  });

  test('a code by mail counts once, for its address and purpose, with five tries, for ten minutes', async () => {
    const { id: accountId, email } = await createAccount(gateway);
    const mail = () => createMailCode(gateway.kernel, { email, purpose: 'sign-in', accountId });
    const use = (given: { id: string; code: string }, unlike = {}) =>
      useMailCode(gateway.kernel, { email, purpose: 'sign-in', id: given.id, code: given.code, ...unlike });
    const one = await mail();
    assert.match(one.code, /^\d{8}$/);
    assert.equal(await use(one, { purpose: 'recover' }), undefined);
    assert.equal(await use(one, { email: 'other@example.test' }), undefined);
    assert.equal(await use(one, { id: randomUUID() }), undefined);
    const both = await Promise.all([use(one), use(one), use(one)]);
    assert.deepEqual(
      both.filter((each) => each !== undefined),
      [{ accountId }],
    );

    const two = await mail();
    for (let i = 0; i < 4; i += 1) assert.equal(await use(two, { code: '00000000' }), undefined);
    assert.deepEqual(await use(two), { accountId }, 'the fifth');
    const three = await mail();
    await Promise.all(Array.from({ length: 5 }, () => use(three, { code: '00000000' })));
    assert.equal(await use(three), undefined, 'the sixth');
    const late = await mail();
    clock.leap(10 * minute);
    assert.equal(await use(late), undefined);
  });

  test('an address of nobody gets a code as others do, and no account by it', async () => {
    const email = 'nobody@example.test';
    const made = await createMailCode(gateway.kernel, { email, purpose: 'verify', accountId: null });
    assert.deepEqual(await useMailCode(gateway.kernel, { ...made, email, purpose: 'verify' }), { accountId: null });
  });
});
