import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { connectMcp } from './mcp.testing.ts';

describe('prompts by the Model Context Protocol', () => {
  const { gateway } = shared(() => openTest());

  test('an agent lists and reads the prompts of its own account, with the filters of the routes', async () => {
    const [account, other] = [await createAccount(gateway), await createAccount(gateway)];
    const keep = async (prompt: string, key = account.key) =>
      (await http(gateway.url, '/v1/prompts', { key, body: { prompt } })).body.id;
    const [first, second] = [await keep('Write the tests'), await keep('Write the docs')];
    const theirs = await keep('Not yours', other.key);
    await http(gateway.url, `/v1/prompts/${first}`, { method: 'PATCH', key: account.key, body: { status: 'done' } });
    await using mcp = await connectMcp(gateway, account.key);
    const idsOf = async (input: object) =>
      (await mcp.call('prompts_list', input)).data.prompts.map(({ id }: { id: string }) => id);
    assert.deepEqual(await idsOf({}), [second]);
    assert.deepEqual(await idsOf({ status: 'all', limit: 1 }), [second]);
    assert.deepEqual(await idsOf({ status: 'done' }), [first]);
    const { next_cursor: cursor } = (await mcp.call('prompts_list', { status: 'all', limit: 1 })).data;
    assert.deepEqual(await idsOf({ status: 'all', limit: 1, cursor }), [first]);
    assert.equal((await mcp.call('prompts_get', { id: first })).data.prompt.prompt, 'Write the tests');
    assert.equal(await mcp.codeOf('prompts_get', { id: theirs }), 'not_found');
    assert.equal((await mcp.call('prompts_list', { status: 'nonsense' })).isError, true);
  });

  test('a key without the scope of prompts reads none of them', async () => {
    const { key } = await createAccount(gateway);
    const body = { name: 'narrow', scopes: ['mcp'] };
    await using mcp = await connectMcp(gateway, (await http(gateway.url, '/v1/keys', { key, body })).body.key);
    assert.equal(await mcp.codeOf('prompts_list', {}), 'forbidden');
  });
});
