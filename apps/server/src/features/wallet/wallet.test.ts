import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { inTransaction } from '../../kernel/db/db.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { debit } from './index.ts';
import { insertEntry } from './wallet.sql.ts';

describe('wallet', () => {
  const { gateway, account } = shared(() => openTest({ settings: { SVC_BILLING: 'true' } }));
  const ask = (path: string, key = account.key) => http(gateway.url, path, { key });

  test('shows the balance and what it does not cover, to its account alone', async () => {
    const { sql } = gateway.kernel;
    const other = await createAccount(gateway);
    await insertEntry(sql, { accountId: other.id, amountMicroEur: 5, sourceKey: `credit:${randomUUID()}`, note: '' });
    await sql`insert into metering.buckets (account_id, starts_at, v1_ms, v2_ms, paused_byte_ms, charge_micro_eur)
      values (${account.id}, now(), 1, 0, 0, 40)`;
    assert.deepEqual((await ask('/v1/wallet')).body, { balance_micro_eur: 0, unpaid_micro_eur: 40, billing: true });
    assert.equal((await ask('/v1/wallet', other.key)).body.balance_micro_eur, 5);
    await sql`delete from metering.buckets where account_id = ${account.id}`;
  });

  test('lists every entry once, newest first, with what it was for', async () => {
    const { id: accountId, key } = await createAccount(gateway);
    const { sql } = gateway.kernel;
    await insertEntry(sql, {
      accountId,
      amountMicroEur: 100,
      sourceKey: `credit:${randomUUID()}`,
      note: 'invoice 17',
    });
    const sourceKey = `sandbox_charge:${accountId}:1`;
    const charge = { accountId, amountMicroEur: 30, sourceKey, note: 'ten minutes' };
    await inTransaction(sql, (tx) => debit(tx, charge));
    await inTransaction(sql, (tx) => debit(tx, charge));
    const first = (await ask('/v1/wallet/entries?limit=1', key)).body;
    const rest = (await ask(`/v1/wallet/entries?limit=1&cursor=${first.next_cursor}`, key)).body;
    const told = [...first.entries, ...rest.entries].map(({ amount_micro_eur, kind, note }) => [
      amount_micro_eur,
      kind,
      note,
    ]);
    assert.deepEqual(told, [
      [-30, 'sandbox_charge', 'ten minutes'],
      [100, 'credit', 'invoice 17'],
    ]);
    assert.equal(rest.next_cursor, undefined);
    assert.equal((await ask('/v1/wallet', key)).body.balance_micro_eur, 70);
    assert.equal((await ask('/v1/wallet/entries?cursor=x', key)).status, 400);
  });

  test('is read with its own scope', async () => {
    const made = await http(gateway.url, '/v1/keys', {
      key: account.key,
      body: { name: 'reads', scopes: ['wallet:read'] },
    });
    assert.equal((await ask('/v1/wallet/entries', made.body.key)).status, 200);
    assert.equal((await ask('/v1/usage', made.body.key)).status, 403);
  });
});
