import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http } from '../../testing.ts';
import { openSandboxes } from '../sandboxes/sandboxes.testing.ts';
import { connectMcp } from './mcp.testing.ts';

const kib = 1024;

describe('the Model Context Protocol', () => {
  const t = shared(() => openSandboxes());

  const connect = (mode: 'legacy' | 'auto', key = t.account.key) => connectMcp(t.gateway, key, mode);

  for (const mode of ['legacy', 'auto'] as const) {
    test(`a client of the ${mode === 'legacy' ? 'revision of 2025' : 'newest revision'} runs code in a sandbox, and reads what it made`, async () => {
      await using mcp = await connect(mode);
      const { tools } = await mcp.client.listTools();
      const wanted = 'create exec files fork kill list pause preview resume run_code';
      assert.deepEqual(tools.map(({ name }) => name).sort(), [
        'accept_transcript_prompt',
        'ask_transcripts',
        'environment_status',
        'environments_list',
        'export_transcript',
        'get_transcript',
        'list_transcripts',
        'prompts_get',
        'prompts_list',
        ...wanted.split(' ').map((name) => `sandbox_${name}`),
        'search_transcripts',
        'transcript_share_create',
      ]);
      const { data: box } = await mcp.call('sandbox_create', { backend: 'v1' });
      const sandbox = { sandbox_id: box.id };
      const ran = await mcp.call('sandbox_exec', { ...sandbox, shell: 'echo "ș" | tee said; exit 3' });
      assert.deepEqual([ran.data.stdout, ran.data.exit_code, ran.isError], ['ș\n', 3, false]);
      assert.equal((await mcp.call('sandbox_run_code', { ...sandbox, code: 'x = 6\nx * 7' })).data.result, '42');
      const read = await mcp.call('sandbox_files', { ...sandbox, op: 'read', path: 'said' });
      assert.equal(read.text, 'ș\n');
      const written = await mcp.call('sandbox_files', { ...sandbox, op: 'write', path: 'out/a.txt', content: 'kept' });
      assert.equal(written.data.bytes, 4);
      const { data: list } = await mcp.call('sandbox_files', { ...sandbox, op: 'list', path: 'out' });
      assert.equal(list.entries[0].path, 'out/a.txt');
      const { data: handed } = await mcp.call('sandbox_files', { ...sandbox, op: 'artifacts' });
      assert.match(handed.data[0].url, /^http.*signature=/);
      assert.equal((await mcp.call('sandbox_list')).data.data.length > 0, true);
      assert.equal((await mcp.call('sandbox_kill', sandbox)).data.status, 'destroyed');
    });
  }

  test('a long output is answered by its ends, a picture as one, and the hashes of a run when they are asked for', async () => {
    await using mcp = await connect('auto');
    const { data: box } = await mcp.call('sandbox_create', { backend: 'v1' });
    const sandbox = { sandbox_id: box.id };
    const long = await mcp.call('sandbox_exec', { ...sandbox, shell: 'echo begun; yes | head -c 900000; echo over' });
    assert.ok(long.text.length <= 65_536, String(long.text.length));
    assert.match(long.data.stdout, /^begun\n[\s\S]+characters are left out here: write it to a file[\s\S]+over\n$/);
    assert.deepEqual([long.data.receipt, long.data.outputs], [undefined, undefined]);
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const drawn = await mcp.call('sandbox_exec', {
      ...sandbox,
      shell: `mkdir -p out && echo ${png} | base64 -d > out/a.png`,
      receipt: true,
    });
    assert.deepEqual(drawn.data.receipt.outputs[0].path, 'out/a.png');
    const read = { ...sandbox, op: 'read', path: 'out/a.png' };
    const { content } = await mcp.client.callTool({ name: 'sandbox_files', arguments: read });
    assert.deepEqual(content, [{ type: 'image', data: png, mimeType: 'image/png' }]);
    const code = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone';
    const cell = await mcp.client.callTool({ name: 'sandbox_run_code', arguments: { ...sandbox, code } });
    const parts = cell.content as { type: string; mimeType?: string }[];
    assert.deepEqual(
      parts.map(({ type, mimeType }) => [type, mimeType]),
      [
        ['text', undefined],
        ['image', 'image/png'],
      ],
    );
    await mcp.call('sandbox_kill', sandbox);
  });

  test('a tool that fails says so in its result, with the code and message of its route', async () => {
    await using mcp = await connect('auto');
    const unknown = await mcp.call('sandbox_exec', { sandbox_id: randomUUID(), shell: 'true' });
    assert.deepEqual([unknown.isError, JSON.parse(unknown.text).code], [true, 'not_found']);
    const { data: box } = await mcp.call('sandbox_create', { backend: 'v1' });
    const sandbox = { sandbox_id: box.id };
    await mcp.call('sandbox_exec', {
      ...sandbox,
      shell: `head -c ${257 * kib} /dev/zero > big; printf '\\xff\\x00' > bytes`,
    });
    const big = await mcp.call('sandbox_files', { ...sandbox, op: 'read', path: 'big' });
    assert.match(JSON.parse(big.text).message, /256 KiB.*artifacts/);
    assert.equal(
      (await mcp.call('sandbox_files', { ...sandbox, op: 'read', path: 'bytes' })).data.content_base64,
      '/wA=',
    );
    assert.equal(
      JSON.parse((await mcp.call('sandbox_fork', { ...sandbox, count: 1 })).text).code,
      'not_supported_on_v1',
    );
    const stranger = await createAccount(t.gateway);
    await using theirs = await connect('auto', stranger.key);
    assert.equal(JSON.parse((await theirs.call('sandbox_exec', { ...sandbox, shell: 'id' })).text).code, 'not_found');
    await mcp.call('sandbox_kill', sandbox);
  });

  test('a key without the right to sandboxes gets none through here, and none at all without a key', async () => {
    const body = { name: 'narrow', scopes: ['mcp'] };
    const { key } = (await http(t.gateway.url, '/v1/keys', { key: t.account.key, body })).body;
    await using mcp = await connect('auto', key);
    assert.equal(JSON.parse((await mcp.call('sandbox_create')).text).code, 'forbidden');
    await assert.rejects(connect('legacy', 'svc_wrong'));
  });

  test('there is no stream of the server, and no session that could be ended: GET, HEAD and DELETE are 405, or 401 without a credential', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const answer = await http(t.gateway.url, '/mcp', { method, key: t.account.key });
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'], method);
      const asked = await http(t.gateway.url, '/mcp', { method });
      assert.equal(asked.status, 401, method);
      assert.match(asked.headers.get('www-authenticate') ?? '', /^Bearer resource_metadata="[^"]+\/mcp"$/);
    }
  });

  test('a page of another origin is refused, and what is no message of the protocol', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const headers = { accept: 'application/json, text/event-stream' };
    const ask = (more: object, sent: unknown = body) =>
      http(t.gateway.url, '/mcp', { key: t.account.key, body: sent, headers: { ...headers, ...more } });
    assert.equal((await ask({ origin: 'https://evil.example' })).status, 403);
    assert.equal((await ask({ origin: new URL(t.gateway.kernel.config.baseUrl).origin })).status, 200);
    for (const rubbish of [{}, [], { jsonrpc: '2.0' }, 'x', 7, null]) {
      const { status } = await ask({}, rubbish);
      assert.ok(status >= 400 && status < 500, JSON.stringify(rubbish));
    }
  });

  test('every tool shows its arguments in place, and says each answer once', async () => {
    await using mcp = await connect('auto');
    const { tools } = await mcp.client.listTools();
    assert.ok(tools.length >= 12);
    for (const { name, inputSchema, outputSchema } of tools) {
      assert.doesNotMatch(JSON.stringify(inputSchema), /\$ref|\$defs/, name);
      assert.equal(inputSchema.type, 'object');
      assert.equal(outputSchema, undefined);
    }
    const create = tools.find(({ name }) => name === 'sandbox_create')?.inputSchema.properties ?? {};
    assert.ok('template' in create && 'egress' in create && 'ttl_seconds' in create, Object.keys(create).join());
    const { properties } = tools.find(({ name }) => name === 'prompts_get')?.inputSchema ?? {};
    assert.deepEqual(Object.keys(properties ?? {}), ['id']);
    const answer = await mcp.client.callTool({ name: 'sandbox_list', arguments: {} });
    assert.deepEqual(['structuredContent' in answer, (answer.content as unknown[]).length], [false, 1]);
  });
});
