import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { http, until } from '../../testing.ts';
import type { Json } from '../sandboxes/sandboxes.testing.ts';
import { type Heard, openAgent } from './agent.testing.ts';

const box = { type: 'svc_sandbox' } as const;
const messages = [{ role: 'user', content: 'Go.' }];
const bash = (command: string) => ({ calls: [{ name: 'sandbox_bash', input: { command } }] });
/** A turn of frames as they are given. */
const says = (frames: readonly object[], last = '') => ({
  act: (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('') + last);
  },
});

describe('turn after turn', () => {
  const t = shared(() => openAgent());
  const ask = (path: string, fields: object) => t.call('POST', path, { messages, tools: [box], ...fields });
  const chat = (fields: object = {}) => ask('/v1/chat/completions', { model: 'chat', ...fields });
  const anthropic = (fields: object = {}) => ask('/v1/messages', { model: 'messages', max_tokens: 4_000, ...fields });
  const sent = (): Json[] => t.provider.taken.map(({ body }) => body);

  test('a lane that fails after a tool ran fails the request and nothing else', async (context) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    context.after(() => process.off('unhandledRejection', note));
    const broken = { act: (response: ServerResponse) => void response.destroy() };
    t.script(bash('true'), broken);
    const answer = await chat();
    assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [502, 'false']);
    assert.deepEqual(unhandled, []);
  });

  test('a call of a tool that nobody has is told to the model, and is no call of the client', async () => {
    for (const stream of [false, true]) {
      let heard: Heard[] = [];
      t.script({ calls: [{ name: 'sandbox_run', input: {} }] }, (said) => {
        heard = said;
        return { text: 'Sorry.' };
      });
      const { status, body } = await chat({ stream });
      assert.equal(status, 200);
      assert.match(heard[0]?.text ?? '', /^there is no tool sandbox_run; there are sandbox_bash, /);
      assert.doesNotMatch(JSON.stringify(body), /sandbox_run/);
    }
  });

  test('text that must be JSON stays it when files are handed out', async () => {
    const schema = { type: 'object' };
    const chatFormat = { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } };
    t.script(bash('echo 1 > out/a.txt'), { text: '{"a":1}' });
    const { message } = (await chat(chatFormat)).body.choices[0];
    assert.equal(message.content, '{"a":1}');
    assert.equal(message.svc_sandbox.artifacts[0].path, 'out/a.txt');
    t.script(bash('echo 1 > out/a.txt'), { text: '{"a":1}' });
    const { body } = await anthropic({ output_config: { format: { type: 'json_schema', schema } } });
    assert.deepEqual(
      body.content.map(({ text }: Json) => text),
      ['{"a":1}'],
    );
    assert.equal(body.svc_sandbox.artifacts.length, 1);
  });

  test('a name of a file is a name in the list, whatever it holds', async () => {
    const name = 'x\n\n# a](b) ![i](c) `*_<b>';
    const code = `open("out/" + ${JSON.stringify(name)}, "w").write("1")`;
    t.script({ calls: [{ name: 'sandbox_python', input: { code } }] }, { text: 'Here.' });
    const { content, svc_sandbox: made } = (await chat()).body.choices[0].message;
    assert.equal(made.artifacts[0].path, `out/${name}`);
    const list = content.slice('Here.\n\n'.length);
    assert.equal(list, `- [x # a\\](b) \\!\\[i\\](c) \\\`\\*\\_\\<b\\>](${made.artifacts[0].url})`);
  });

  test('what a client forces is forced once, and what it limits stays so', async () => {
    const choices: [typeof chat, unknown, unknown][] = [
      [chat, 'required', undefined],
      [chat, 'auto', 'auto'],
      [chat, { type: 'function', function: { name: 'sandbox_bash' } }, undefined],
      [
        chat,
        { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [] } },
        { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } },
      ],
      [anthropic, { type: 'any' }, { type: 'auto' }],
      [
        anthropic,
        { type: 'tool', name: 'sandbox_bash', disable_parallel_tool_use: true },
        { type: 'auto', disable_parallel_tool_use: true },
      ],
      [anthropic, { type: 'auto', disable_parallel_tool_use: true }, { type: 'auto', disable_parallel_tool_use: true }],
    ];
    for (const [call, given, then] of choices) {
      t.script({ calls: [{ name: 'sandbox_edit', input: {} }] }, { text: 'Done.' });
      await call({ tool_choice: given });
      assert.deepEqual(
        sent().map(({ tool_choice: choice }) => choice),
        [given, then],
      );
    }
  });

  test('thinking goes back with its signature to the lane that thought, over several turns', async () => {
    const event = (type: string, fields: object): object => ({ type, ...fields });
    const thinks = (text: string, signature: string, at: number) =>
      says([
        event('message_start', {
          message: { id: 'msg_7', model: 'small-1', content: [], usage: { input_tokens: 3, output_tokens: 1 } },
        }),
        event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
        event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: text } }),
        event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature } }),
        event('content_block_stop', { index: 0 }),
        event('content_block_start', { index: 1, content_block: { type: 'redacted_thinking', data: `hidden ${at}` } }),
        event('content_block_stop', { index: 1 }),
        event('content_block_start', {
          index: 2,
          content_block: { type: 'tool_use', id: `toolu_${at}`, name: 'sandbox_edit', input: {} },
        }),
        event('content_block_stop', { index: 2 }),
        event('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }),
        event('message_stop', {}),
      ]);
    t.script(thinks('First', 'sig1', 1), thinks('Then', 'sig2', 2), { text: 'Done.' });
    const thinking = { type: 'enabled', budget_tokens: 1_024 };
    const { body } = await anthropic({ thinking });
    const turn = (text: string, signature: string, at: number) => [
      { type: 'thinking', thinking: text, signature },
      { type: 'redacted_thinking', data: `hidden ${at}` },
    ];
    const shown = (blocks: Json[]) => blocks.filter(({ type }) => type.endsWith('thinking'));
    const [, first, , second] = sent()[2]?.['messages'] ?? [];
    assert.deepEqual(
      [shown(first.content), shown(second.content)],
      [turn('First', 'sig1', 1), turn('Then', 'sig2', 2)],
    );
    assert.deepEqual(shown(body.content), [...turn('First', 'sig1', 1), ...turn('Then', 'sig2', 2)]);
  });

  test('calls of another maker in the client’s history have ids that the lane takes', async () => {
    t.script({ text: 'Done.' });
    const id = 'functions.weather:0';
    const history = [
      ...messages,
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'weather', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'warm' }] },
    ];
    const { status } = await anthropic({ messages: history });
    assert.equal(status, 200);
    const [, call, result] = sent()[0]?.['messages'] ?? [];
    assert.match(call.content[0].id, /^call_[0-9a-f]{24}$/);
    assert.equal(result.content[0].tool_use_id, call.content[0].id);
  });

  test('a server of chat completions gets the thinking back that it gave out', async () => {
    const chunk = (delta: object, reason: string | null = null): object => ({
      id: 'chatcmpl-7',
      model: 'small-1',
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'sandbox_edit', arguments: '{}' } };
    const thought = { type: 'thinking', thinking: 'Let me see.', signature: 'sig' };
    // The second one signs at its end what it told before, as a server of ours does.
    for (const [signed, late] of [
      [chunk({ thinking_blocks: [{ ...thought, thinking: '' }] }), []],
      [chunk({ content: null }), [chunk({ thinking_blocks: [thought] })]],
    ] as const) {
      const thinks = says(
        [
          chunk({ role: 'assistant', reasoning_content: 'Let me ' }),
          chunk({ reasoning_content: 'see.' }),
          signed,
          chunk({ tool_calls: [call] }),
          ...late,
          // Some servers end with `stop` whatever they did.
          chunk({}, 'stop'),
        ],
        'data: [DONE]\n\n',
      );
      t.script(thinks, { text: 'Done.' });
      const answer = await chat();
      assert.equal(answer.status, 200);
      const [given] = answer.body.choices;
      for (const { reasoning_content: text, thinking_blocks: blocks } of [sent()[1]?.['messages'][1], given.message])
        assert.deepEqual([text, blocks], ['Let me see.', [thought]]);
      t.script(thinks, { text: 'Done.' });
      const { body } = await ask('/v1/messages', { model: 'chat', max_tokens: 4_000 });
      assert.deepEqual(
        body.content.filter(({ type }: Json) => type === 'thinking'),
        [thought],
      );
    }
  });

  test('a key that is revoked while a tool runs ends the answer with an error, streamed or not', async () => {
    for (const stream of [false, true]) {
      const { body: made } = await t.call('POST', '/v1/keys', { name: 'short', tool_level: 'l3_sandbox' });
      t.script(bash('sleep 600'));
      const body = { model: 'chat', messages, tools: [box], stream };
      const asking = http(t.gateway.url, '/v1/chat/completions', { method: 'POST', key: made.key, body });
      await until(async () => (await t.call('GET', '/v1/sandboxes?status=running')).body.data.length === 1);
      await t.call('DELETE', `/v1/keys/${made.id}`);
      const answer = await asking;
      assert.equal(answer.status, stream ? 200 : 401);
      assert.match(JSON.stringify(answer.body), /the key may not be used any more/);
      assert.doesNotMatch(JSON.stringify(answer.body), /DONE/);
      await until(async () => (await t.call('GET', '/v1/sandboxes?status=running')).body.data.length === 0);
    }
  });

  test('the receipt is that of all turns, in either protocol', async () => {
    for (const [path, model] of [
      ['/v1/chat/completions', 'chat'],
      ['/v1/messages', 'messages'],
    ] as const) {
      const trace = { 'x-request-id': `turns-${model}` };
      t.script({ calls: [{ name: 'sandbox_edit', input: {} }] }, { text: 'Done.' });
      await t.call('POST', path, { model, max_tokens: 500, messages, tools: [box] }, trace);
      const find = () => t.call('GET', `/v1/receipt?trace_id=turns-${model}`);
      await until(async () => (await find()).status === 200);
      assert.deepEqual((await find()).body.usage, { input_tokens: 40, output_tokens: 18, cached_tokens: 0 });
    }
  });
});
