import assert from 'node:assert/strict';
import { bySystem } from '../../kernel/records/audit.ts';
import type { TestAccount, TestGateway } from '../../testing.ts';
import { issueKey } from '../keys/index.ts';
import { type ConnectionRow, Connections } from './index.ts';

/** Lets an app in that an account connected, with an API key. */
export async function connectionOf(
  { kernel }: Pick<TestGateway, 'kernel'>,
  { id: accountId }: TestAccount,
): Promise<ConnectionRow> {
  const app = { client_id: 'https://app.example.com/client.json', name: 'App', trust: 'document' as const };
  const scopes = ['usage:read'];
  const resources = ['https://api.example.com'];
  const connections = new Connections(kernel);
  const consent = { ...app, account_id: accountId, host: 'app.example.com', asked: scopes, scopes, resources };
  await connections.allow({ ...consent, by: bySystem });
  const row = await connections.of(accountId, app.client_id);
  assert.ok(row);
  const connection = { id: row.id, device: null };
  await issueKey(kernel, kernel.sql, { accountId, name: app.name, scopes, connection });
  return row;
}
