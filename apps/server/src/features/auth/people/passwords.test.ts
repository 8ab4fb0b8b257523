import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { ApiError } from '../../../kernel/base/errors.ts';
import { testClock } from '../../../kernel/base/clock.ts';
import { networkOf } from '../../../kernel/base/networks.ts';
import { byCommand, bySystem } from '../../../kernel/records/audit.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, openTest, startGateway, type TestAccount, type TestGateway } from '../../../testing.ts';
import { markDeleted } from '../../accounts/accounts.deletion.ts';
import { setSuspended } from '../../accounts/accounts.sql.ts';
import { sweepGuesses } from './guesses.sql.ts';
import { Guesses } from './guesses.ts';
import { PasswordHashing } from './hashing.ts';
import { createLogin } from './logins.ts';
import { hasPassword, provePassword, removePassword, setPassword, signInByPassword } from './passwords.ts';
import { checkNewPassword } from './strength.ts';
import { sweepPeople } from './sweep.ts';

const good = 'three purple kettles';
const home = '192.0.2.7';

describe('a new password', () => {
  const problem = (password: string, email = 'someone@example.test') => checkNewPassword(password, email);

  test('has 12 to 128 characters, each counted once whatever its bytes', () => {
    const long = (length: number): string =>
      Array.from({ length }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 5000))).join('');
    assert.deepEqual(
      [11, 12, 128, 129].map((length) => problem(long(length))),
      ['short', undefined, undefined, 'long'],
    );
    assert.equal(problem('🔑'.repeat(5) + '🗝'.repeat(6)), 'short');
  });

  test('is not the address, nor the part before its @, in letters of any size', () => {
    assert.equal(problem('maria.popescu@example.test', 'Maria.Popescu@Example.test'), 'address');
    assert.equal(problem('MARIA.POPESCU', 'maria.popescu@example.test'), 'address');
    assert.equal(problem('maria.popescu and more', 'maria.popescu@example.test'), undefined);
  });

  test('is none that is guessed first: listed, repeated, in the order of the alphabet or of a keyboard', () => {
    const common = [
      'password1234 PASSWORD1234 P@ssw0rd1234 correcthorsebatterystaple iloveyou1234 parola123456',
      'aaaaaaaaaaaa abababababab abc1abc1abc1 ăăăăăăăăăăăă 🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑 aaaabbbbcccc',
      'abcdefghijkl abcdefghijkl7! zyxwvutsrqpo 123456789012 0987654321098 abcdefgh1234',
      'qwertyuiopasdf 1qaz2wsx3edc asdfghjkl123 qwerty123456789',
    ].flatMap((line) => line.split(' '));
    for (const each of common) assert.equal(problem(each), 'common', each);
    for (const each of [good, 'password for my cat', 'Tr0ub4dor&3xyz', 'vreau o parolă bună', 'abcdefgh kettle']) {
      assert.equal(problem(each), undefined, each);
    }
  });
});

describe('hashing of passwords', () => {
  test('two run at once, twenty wait, and the 23rd is refused with when to try again', async () => {
    const hashing = new PasswordHashing(2);
    const all = Array.from({ length: 2 }, () => hashing.hash(good, home));
    assert.equal(hashing.waiting, 0);
    all.push(hashing.hash(good, home));
    assert.equal(hashing.waiting, 1, 'the third waits');
    for (let i = 0; i < 19; i += 1) all.push(hashing.hash(good, home));
    assert.equal(hashing.waiting, 20);
    await assert.rejects(hashing.hash(good, home), {
      name: 'ApiError',
      code: 'unavailable',
      headers: { 'retry-after': '1' },
    });
    const hashes = await Promise.all(all);
    assert.deepEqual([hashes.length, new Set(hashes).size, hashing.waiting, hashing.runs], [22, 22, 0, 22]);
    // The places are free again.
    assert.equal(await hashing.verify(good, hashes[0], home), true);
  });

  test('is argon2id with 19 MiB, two passes and a salt of its own, in PHC form', async () => {
    const hashing = new PasswordHashing(2);
    const hash = await hashing.hash(good, home);
    assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    assert.deepEqual(
      [
        await hashing.verify(good, hash, home),
        await hashing.verify(`${good}.`, hash, home),
        await hashing.verify(good, undefined, home),
      ],
      [true, false, false],
    );
    assert.equal(hashing.runs, 4);
  });

  test('a password is the same however its letters are put together', async () => {
    const hashing = new PasswordHashing(2);
    const hash = await hashing.hash('ărciumă țâfnoasă'.normalize('NFD'), home);
    assert.equal(await hashing.verify('ărciumă țâfnoasă'.normalize('NFC'), hash, home), true);
  });

  test('places go in turn by who asks, and one that asks for too many is refused first', async () => {
    const hashing = new PasswordHashing(2);
    const order: string[] = [];
    const ask = (asker: string) =>
      hashing.hash(good, asker).then(
        () => order.push(asker),
        () => order.push(`no place for ${asker}`),
      );
    const all = Array.from({ length: 22 }, () => ask('flood'));
    all.push(ask('home'), ask('home'), ask('office'));
    assert.equal(hashing.waiting, 20);
    await Promise.all(all);
    assert.deepEqual(order.slice(0, 3), Array(3).fill('no place for flood'));
    // Who came last is not last: a busy machine may let some of the flood pass in between.
    assert.deepEqual(new Set(order.slice(-5)), new Set(['flood']));
    assert.equal(hashing.waiting, 0);
    assert.equal(order.filter((asker) => asker === 'flood').length, 19);
  });
});

describe('signing in by password', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  const { gateway, database } = shared(() => openTest({ clock }));
  const partsOf = ({ kernel }: Pick<TestGateway, 'kernel'> = gateway) => ({
    sql: kernel.sql,
    clock: kernel.clock,
    audit: kernel.audit,
    hashing: new PasswordHashing(2),
    guesses: new Guesses(kernel),
  });
  const person = async (): Promise<TestAccount> => {
    const account = await createAccount(gateway);
    assert.equal(await setPassword(partsOf(), { accountId: account.id, password: good, by: bySystem }), undefined);
    return account;
  };
  const tryIt = (email: string, password: string, network = home, parts = partsOf()) =>
    signInByPassword(parts, { email, password, network });
  /** As many wrong ones as are asked for, without the work of hashing. */
  const fail = async (accountId: string, network: string, times = 1) => {
    for (let i = 0; i < times; i += 1) {
      await new Guesses(gateway.kernel).begin({ accountId, email: '', network });
    }
  };
  const signIn = ({ id: accountId }: TestAccount, network: string) =>
    createLogin(gateway.kernel, { accountId, amr: ['pwd'], name: '', platform: '', network, by: bySystem });

  test('the right one, whatever the case of the address; and only the newest', async () => {
    const { id: accountId, email } = await person();
    assert.deepEqual(await tryIt(email.toUpperCase(), good), { accountId });
    assert.equal(await setPassword(partsOf(), { accountId, password: 'another good one', by: bySystem }), undefined);
    assert.equal(await tryIt(email, good), 'wrong');
    assert.deepEqual(await tryIt(email, 'another good one'), { accountId });
    assert.equal(await removePassword(partsOf(), { accountId, by: bySystem }), true);
    assert.equal(await tryIt(email, 'another good one'), 'wrong');
    assert.equal(await hasPassword(gateway.kernel.sql, accountId), false);
  });

  test('whoever types the address as a release before kept it, or as it is kept now, is the same person', async () => {
    const name = randomUUID();
    const spellings = [`${name}@пример.test`, `${name}@xn--e1afmkfd.test`];
    const { sql } = gateway.kernel;
    for (const kept of spellings) {
      const { id: accountId } = await person();
      await sql`update accounts.accounts set email = ${kept} where id = ${accountId}`;
      for (const typed of spellings) assert.deepEqual(await tryIt(typed, good), { accountId }, `${kept} ${typed}`);
      await sql`update accounts.accounts set email = ${randomUUID()} || '@example.test' where id = ${accountId}`;
    }
    const [typed, kept] = [await person(), await person()];
    await sql`update accounts.accounts set email = ${spellings[0] ?? ''} where id = ${typed.id}`;
    await sql`update accounts.accounts set email = ${spellings[1] ?? ''} where id = ${kept.id}`;
    // Where both are there, each is found by its own text.
    assert.deepEqual(await tryIt(spellings[0] ?? '', good), { accountId: typed.id });
    assert.deepEqual(await tryIt(spellings[1] ?? '', good), { accountId: kept.id });
  });

  test('a password that is not taken changes nothing', async () => {
    const { id: accountId, email } = await person();
    for (const [password, problem] of [
      ['short', 'short'],
      [email, 'address'],
      ['password1234', 'common'],
    ] as const) {
      assert.equal(await setPassword(partsOf(), { accountId, password, by: bySystem }), problem);
    }
    assert.deepEqual(await tryIt(email, good), { accountId });
    const nobody = setPassword(partsOf(), { accountId: randomUUID(), password: good, by: bySystem });
    await assert.rejects(nobody, { code: 'not_found' });
  });

  test('unknown, without a password, suspended, being deleted, wrong: one answer after one run of argon2 each', async () => {
    const [known, suspended, leaving] = [await person(), await person(), await person()];
    const without = await createAccount(gateway);
    await setSuspended(gateway.kernel.sql, suspended.id, true);
    await markDeleted(gateway.kernel, leaving.id, byCommand);
    const tries = [
      [known.email, `${good}!`],
      [`${randomUUID()}@example.test`, good],
      [without.email, good],
      [suspended.email, good],
      [leaving.email, good],
      ['no address', ''],
    ] as const;
    for (const [email, password] of tries) {
      const parts = partsOf();
      assert.equal(await tryIt(email, password, home, parts), 'wrong', email);
      assert.equal(parts.hashing.runs, 1, email);
    }
  });

  test('the 6th wrong one in a row waits a minute, then longer each time, 15 minutes at most; an address of nobody too', async () => {
    const { id: accountId, email } = await person();
    for (const address of [email, `${randomUUID()}@example.test`]) {
      for (let i = 0; i < 5; i += 1) assert.equal(await tryIt(address, 'wrong'), 'wrong');
      const parts = partsOf();
      assert.deepEqual(await tryIt(address, good, home, parts), { waitSeconds: 60 });
      assert.equal(parts.hashing.runs, 0);
      const waits = [];
      for (let wait = 60; waits.length < 6; ) {
        clock.leap(wait * 1000);
        assert.equal(await tryIt(address, 'wrong'), 'wrong');
        const next = (await tryIt(address, 'wrong')) as { waitSeconds: number };
        waits.push(next.waitSeconds);
        wait = next.waitSeconds;
      }
      assert.deepEqual(waits, [120, 240, 480, 900, 900, 900]);
    }
    assert.deepEqual(await tryIt(email, good, '198.51.100.1'), { accountId }, 'another network of the person');
    clock.leap(900_000);
    assert.deepEqual(await tryIt(email, good), { accountId });
    for (let i = 0; i < 4; i += 1) assert.equal(await tryIt(email, 'wrong'), 'wrong', 'a success cleared the pair');
    assert.deepEqual(await tryIt(email, good), { accountId });
  });

  test('20 wrong ones in all slow an address down from new networks, and never where the person signed in lately', async () => {
    const account = await person();
    const { id: accountId, email } = account;
    await signIn(account, home);
    for (let i = 0; i < 20; i += 1) await fail(accountId, `203.0.113.${i}`);
    assert.deepEqual(await tryIt(email, good, '198.51.100.77'), { waitSeconds: 60 });
    assert.deepEqual(await tryIt(email, good), { accountId }, 'known');
    assert.deepEqual(
      await tryIt(email, good, '198.51.100.77'),
      { waitSeconds: 60 },
      'the owner lifts no wait of others',
    );
    clock.leap(31 * 86_400_000);
    for (let i = 0; i < 20; i += 1) await fail(accountId, `203.0.113.${i}`);
    assert.deepEqual(await tryIt(email, good), { waitSeconds: 60 }, 'not seen for 31 days');
  });

  test('tries at what nobody can guess wait for those of the same network alone', async () => {
    const { id: accountId, email } = await person();
    const tryAt = (network: string) => partsOf().guesses.begin({ accountId, email, network, perNetwork: true });
    for (let i = 0; i < 25; i += 1) await tryAt(`203.0.113.${i}`);
    for (let i = 0; i < 4; i += 1) await tryAt('203.0.113.1');
    assert.deepEqual(await tryAt('203.0.113.1'), { waitSeconds: 60 });
    assert.ok('succeeded' in (await tryAt(home)));
  });

  test('a network guesses 240 passwords a minute in all; who waits for an account, types no password, or is right where known, uses up none', async () => {
    const network = '203.0.113.240';
    const others = partsOf();
    const begin = (email: string, accountId: string | null = null) =>
      others.guesses.begin({ accountId, email, network, isPassword: true });
    const { id: accountId, email } = await person();
    for (let i = 0; i < 50; i += 1) await begin('failing@example.test');
    let looked = 5;
    for (; 'succeeded' in (await begin(`${randomUUID()}@example.test`)); looked += 1);
    // A gateway leases the window's permits some at a time, and may refuse a little early.
    assert.ok(looked > 230 && looked <= 240, String(looked));
    assert.ok('waitSeconds' in (await begin(email, accountId)));
    const known = await person();
    await signIn(known, network);
    assert.deepEqual(await tryIt(known.email, good, network), { accountId: known.id });
    assert.ok('waitSeconds' in Object(await tryIt(known.email, 'not this one', network)));
    // Letters of a phone, say.
    assert.ok('succeeded' in (await others.guesses.begin({ accountId: null, email: `phone ${network}`, network })));
  });

  test('of twenty tries at once five are let through, over two gateways too', async () => {
    const { id: accountId } = await person();
    await using second = await startGateway(database, { clock });
    const both = [new Guesses(gateway.kernel), new Guesses(second.kernel)];
    const begun = await Promise.all(
      Array.from({ length: 20 }, (_, at) => both[at % 2]?.begin({ accountId, email: '', network: home })),
    );
    assert.equal(begun.filter((each) => each && 'succeeded' in each).length, 5);
  });

  test('what was refused for want of a place counts for nothing', async () => {
    const { email, id: accountId } = await person();
    const full = new PasswordHashing(2);
    full.verify = () => Promise.reject(new ApiError('unavailable', 'full'));
    const parts = { ...partsOf(), hashing: full };
    for (let i = 0; i < 6; i += 1) await assert.rejects(tryIt(email, good, home, parts), { code: 'unavailable' });
    assert.deepEqual(await tryIt(email, good), { accountId });
  });

  test('a fresh proof is slowed down as signing in is', async () => {
    const { id: accountId } = await person();
    const prove = (password: string) => provePassword(partsOf(), { accountId, password, network: home });
    for (let i = 0; i < 4; i += 1) assert.equal(await prove('wrong'), 'wrong');
    assert.equal(await prove(good), 'right');
    await fail(accountId, home, 5);
    assert.deepEqual(await prove(good), { waitSeconds: 60 });
  });

  test('rows of guesses are bounded, those that count most stay, and a day later all are forgotten', async () => {
    const { sql } = gateway.kernel;
    await sql`delete from auth.guesses`;
    const { id: accountId } = await person();
    await fail(accountId, home, 3);
    for (let i = 0; i < 10; i += 1) {
      await new Guesses(gateway.kernel).begin({ accountId: null, email: `${i}@example.test`, network: home });
    }
    await sweepGuesses(sql, clock, 2);
    const left = await sql<{ account_id: string; failures: number }[]>`select account_id, failures from auth.guesses`;
    assert.deepEqual(
      left.map((row) => [row.account_id, row.failures]),
      [
        [accountId, 3],
        [accountId, 3],
      ],
    );
    clock.leap(86_400_000);
    await sweepPeople.run(gateway.kernel);
    assert.equal((await sql`select 1 from auth.guesses`).length, 0);
  });

  test('networks are IPv4 addresses and the /64 of IPv6 addresses', () => {
    assert.deepEqual(
      ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8:1:2:3:4:5:6', '2001:db8::1'].map((address) => networkOf(address)),
      ['192.0.2.7', '192.0.2.7', '2001:db8:1:2::/64', '2001:db8:0:0::/64'],
    );
  });
});
