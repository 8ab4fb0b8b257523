import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
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

/** Lets an app in with these scopes; answers its connection, and an API key that it was given. */
export async function letIn(
  { kernel }: Pick<TestGateway, 'kernel'>,
  { id: accountId }: Pick<TestAccount, 'id'>,
  scopes: string[],
  trust: ConnectionRow['trust'] = 'unknown',
): Promise<{ id: string; key: string; client: string }> {
  const connections = new Connections(kernel);
  const client = randomUUID();
  const seen = { account_id: accountId, client_id: client, name: 'Helper', trust, host: 'app.example.com' };
  await connections.allow({ ...seen, asked: scopes, scopes, resources: ['https://api.example.com'], by: bySystem });
  const row = await connections.of(accountId, client);
  assert.ok(row);
  const connection = { id: row.id, device: null };
  const { text: key } = await issueKey(kernel, kernel.sql, { accountId, name: 'Helper', scopes, connection });
  return { id: row.id, key, client };
}
