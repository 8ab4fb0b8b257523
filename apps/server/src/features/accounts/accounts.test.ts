import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { format, integer, span } from '../../kernel/commands.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { shared } from '../../testing.shared.ts';
import { svcOf } from '../../testing.commands.ts';
import { asOwner, http, openTest } from '../../testing.ts';

describe('admin commands', () => {
  const { gateway, database } = shared(() => openTest());

  const svc = svcOf(gateway);
  const address = () => `${randomUUID()}@example.test`;
  const status = async (key: string, path = '/v1/keys') => (await http(gateway.url, path, { key })).status;

  test('accounts create answers id and address; the same address again, in any case, is refused', async () => {
    const email = address();
    const account = await svc('accounts', 'create', '--email', email, '--name', 'Ana');
    assert.deepEqual(Object.keys(account), ['account_id', 'email']);
    assert.equal(account.email, email);
    await assert.rejects(svc('accounts', 'create', '--email', email.toUpperCase()), CommandError);
    await assert.rejects(svc('accounts', 'create', '--email', 'nobody'), CommandError);
  });

  test('accounts set takes effect on the next request and keeps what it does not name', async () => {
    const email = address();
    await svc('accounts', 'create', '--email', email);
    const { key } = await svc('keys', 'create', '--email', email);
    assert.equal(await status(key), 200);
    await svc('accounts', 'set', '--email', email, '--subscription', 'inactive');
    assert.equal(await status(key), 402);
    await svc('accounts', 'set', '--email', email, '--feature', 'transcripts=off', '--feature', 'x=on');
    const set = await svc('accounts', 'set', '--email', email, '--subscription', 'active', '--feature', 'x=off');
    assert.deepEqual([set.features, set.subscription], [{ transcripts: false, x: false }, 'active']);
    assert.equal(await status(key), 200);
    const level = await svc('accounts', 'set', '--email', email, '--tool-level', 'l2');
    assert.equal(level.tool_level, 'l2');
    for (const bad of [
      ['--subscription', 'paused'],
      ['--feature', 'X'],
      ['--tool-level', 'l9'],
    ]) {
      await assert.rejects(svc('accounts', 'set', '--email', email, ...bad), CommandError);
    }
    await assert.rejects(svc('accounts', 'set', '--email', address(), '--subscription', 'active'), /no account/);
  });

  test('accounts suspend refuses its keys at once, resume lets it go on; neither is done to the only account unnamed', async () => {
    const email = address();
    await svc('accounts', 'create', '--email', email);
    const { key } = await svc('keys', 'create', '--email', email);
    assert.equal(await status(key), 200);
    const suspended = await svc('accounts', 'suspend', '--email', email);
    assert.match(suspended.suspended_at, /^\d{4}-/);
    const refused = await http(gateway.url, '/v1/keys', { key });
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'account_suspended']);
    assert.equal((await svc('accounts', 'suspend', '--email', email)).suspended_at, suspended.suspended_at);
    assert.equal((await svc('accounts', 'show', '--email', email)).suspended_at, suspended.suspended_at);
    assert.equal((await svc('accounts', 'resume', '--email', email)).suspended_at, null);
    assert.equal(await status(key), 200);
    await assert.rejects(svc('accounts', 'suspend'));
  });

  test('accounts quota gives an account a limit of its own, and takes it back', async () => {
    const email = address();
    await svc('accounts', 'create', '--email', email);
    const { key } = await svc('keys', 'create', '--email', email);
    const limit = async () => {
      const { body } = await http(gateway.url, '/v1/usage', { key });
      return body.quotas.find(({ name }: { name: string }) => name === 'keys').limit as number;
    };
    const before = await limit();
    await svc('accounts', 'quota', '--email', email, '--name', 'keys', '--limit', '1');
    assert.equal(await limit(), 1);
    assert.equal((await http(gateway.url, '/v1/keys', { key, body: {} })).status, 429);
    await svc('accounts', 'quota', '--email', email, '--name', 'keys', '--limit', 'default');
    assert.equal(await limit(), before);
    for (const bad of [
      ['--name', 'shoes', '--limit', '1'],
      ['--name', 'keys', '--limit', '-1'],
      ['--name', 'keys', '--limit', 'many'],
    ]) {
      await assert.rejects(svc('accounts', 'quota', '--email', email, ...bad), CommandError);
    }
  });

  test('an account is listed and shown, and its address changed, to none that another has', async () => {
    const [email, other, next] = [address(), address(), address()];
    const { account_id: id } = await svc('accounts', 'create', '--email', email, '--name', 'Ana');
    await svc('accounts', 'create', '--email', other);
    const listed = (await svc('accounts', 'list')).filter((each: { email: string }) =>
      [email, other].includes(each.email),
    );
    assert.deepEqual(
      listed.map((each: { email: string; name: string }) => [each.email, each.name]),
      [
        [email, 'Ana'],
        [other, ''],
      ],
    );
    const set = (to: string) => svc('accounts', 'set', '--email', email, '--new-email', to);
    await assert.rejects(set(other.toUpperCase()), /another account has/);
    await assert.rejects(set('nobody'), /no e-mail address/);
    assert.equal((await svc('accounts', 'set', '--email', email, '--new-email', next)).email, next);
    assert.equal((await svc('accounts', 'show', '--email', next)).account_id, id);
    await assert.rejects(svc('accounts', 'show', '--email', email), /no account has/);
    await assert.rejects(svc('accounts', 'show'), /several accounts; name one with --email \(see: svc accounts list\)/);
    await svc('accounts', 'set', '--email', other, '--new-email', email);
    assert.equal((await svc('accounts', 'set', '--email', email, '--new-email', email)).email, email);
  });

  test('keys are paused, resumed and revoked by id, prefix or a file with the text, at once; a text on the command line is refused', async () => {
    const email = address();
    await svc('accounts', 'create', '--email', email);
    const { id, key } = await svc(
      'keys',
      'create',
      '--email',
      email,
      '--scopes',
      'keys:read, hosts',
      '--expires-in',
      '1h',
    );
    assert.equal(await status(key), 200);
    assert.equal((await svc('keys', 'pause', id)).status, 'paused');
    assert.equal(await status(key), 401);
    await assert.rejects(
      svc('keys', 'resume', key),
      (error: Error) => /command line is seen by others/.test(error.message) && !error.message.includes(key),
    );
    const file = join(mkdtempSync(join(tmpdir(), 'svc-key-')), 'key');
    writeFileSync(file, `${key}\n`);
    assert.equal((await svc('keys', 'resume', '--text-file', file)).status, 'active');
    rmSync(file);
    await assert.rejects(svc('keys', 'resume', '--text-file', file), /cannot read the key/);
    assert.equal(await status(key), 200);
    assert.equal((await svc('keys', 'pause', key.slice(0, 8))).id, id);
    assert.equal((await svc('keys', 'resume', key.slice(0, 8))).status, 'active');
    assert.equal(await status(key), 200);
    assert.equal((await svc('keys', 'revoke', '--id', id)).status, 'revoked');
    assert.equal(await status(key), 401);
    await assert.rejects(svc('keys', 'resume', id), /revoked/);
    const listed = await svc('keys', 'list', '--email', email);
    assert.deepEqual([listed.length, listed[0].scopes, listed[0].key], [1, ['keys:read', 'hosts'], undefined]);
    assert.ok(Math.abs(Date.parse(listed[0].expires_at) - Date.now() - 3_600_000) < 60_000);
    for (const bad of [[], ['nonsense'], [randomUUID()]])
      await assert.rejects(svc('keys', 'pause', ...bad), CommandError);
    await assert.rejects(svc('keys', 'create', '--email', email, '--scopes', 'No'), CommandError);
  });

  test('an organisation never loses its last owner', async () => {
    const [one, two] = [address(), address()];
    for (const email of [one, two]) await svc('accounts', 'create', '--email', email);
    const { org_id: org } = await svc('orgs', 'create', '--name', 'Org', '--owner', one);
    const add = (email: string, role: string) => svc('orgs', 'add', '--org', org, '--email', email, '--role', role);
    await assert.rejects(add(one, 'member'), /needs an owner/);
    assert.equal((await add(two, 'owner')).role, 'owner');
    const both = await Promise.allSettled([add(one, 'admin'), add(two, 'member')]);
    assert.deepEqual(both.map((outcome) => outcome.status).sort(), ['fulfilled', 'rejected']);
    const rows = await gateway.kernel.sql`select role from orgs.members where org_id = ${org} and role = 'owner'`;
    assert.equal(rows.length, 1);
    await assert.rejects(svc('orgs', 'add', '--org', randomUUID(), '--email', one, '--role', 'member'), /no such/);
    await assert.rejects(svc('orgs', 'add', '--org', 'x', '--email', one, '--role', 'member'), CommandError);
    await assert.rejects(svc('orgs', 'create', '--name', ' ', '--owner', one), CommandError);
    await assert.rejects(svc('orgs', 'create', '--name', 'Org'), /name one with --owner/);
  });

  test('a credit with one source key counts once, however often and at once it is repeated', async () => {
    const email = address();
    await svc('accounts', 'create', '--email', email);
    const source = randomUUID();
    const credit = (...more: string[]) => svc('wallet', 'credit', '--email', email, '--micro-eur', '5000000', ...more);
    const credits = await Promise.all(Array.from({ length: 10 }, () => credit('--source-key', source)));
    assert.equal(credits.filter(({ credited }) => credited).length, 1);
    await credit();
    await svc('wallet', 'credit', '--email', email, '--micro-eur', '-1', '--note', 'a correction');
    const shown = await svc('wallet', 'show', '--email', email);
    assert.deepEqual([shown.balance_micro_eur, shown.entries.length], [9_999_999, 3]);
    assert.equal(shown.entries[0].note, 'a correction');
    for (const bad of ['0', '1.5', '1e6', 'x', '99999999999999999']) {
      await assert.rejects(svc('wallet', 'credit', '--email', email, '--micro-eur', bad), CommandError);
    }
  });

  test('the ledger is append-only, for its owner too', async () => {
    for (const change of [
      'update wallet.ledger set amount_micro_eur = 0',
      'delete from wallet.ledger',
      'truncate wallet.ledger',
      'truncate wallet.ledger cascade',
    ]) {
      await assert.rejects(
        asOwner(database, (sql) => sql.unsafe(change)),
        /append-only/,
        change,
      );
    }
  });

  test('spans and integers are read as people write them', () => {
    assert.deepEqual(['90', '90s', '30m', '12h', '30d', '2w'].map(span), [90, 90, 1_800, 43_200, 2_592_000, 1_209_600]);
    for (const bad of ['', '0', '-1h', '1.5h', '1y', 'h', '1 h']) assert.throws(() => span(bad), CommandError, bad);
    assert.deepEqual(['-5', '+5', '007'].map(integer), [-5, 5, 7]);
  });

  test('text for people: aligned columns, a dash for what is unset', () => {
    assert.equal(format([{ a: 1, b: 'x' }, { a: 22 }], false), 'a   b\n1   x\n22  -');
    assert.equal(format({ id: 'x', longer: [1] }, false), 'id      x\nlonger  [1]');
    assert.equal(format([], false), 'none');
  });
});
