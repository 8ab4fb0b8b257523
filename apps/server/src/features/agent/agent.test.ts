import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, until } from '../../testing.ts';
import type { Json } from '../sandboxes/sandboxes.testing.ts';
import { type Heard, openAgent } from './agent.testing.ts';

const box = { type: 'svc_sandbox' } as const;
const question = [{ role: 'user', content: 'Draw it.' }];

describe('a model with a sandbox', () => {
  const t = shared(() => openAgent());
  const chat = (fields: object, headers: Record<string, string> = {}) =>
    t.call('POST', '/v1/chat/completions', { model: 'chat', messages: question, tools: [box], ...fields }, headers);
  const session = () => ({ 'x-svc-session-id': randomUUID() });
  const running = async (): Promise<Json[]> => (await t.call('GET', '/v1/sandboxes?status=running')).body.data;

  /** A model that writes a script, runs it, edits it, and draws a chart. */
  const works = (seen: Heard[][]) =>
    t.script(
      {
        text: 'I write it.',
        calls: [{ name: 'sandbox_edit', input: { path: '/workspace/a.py', new_text: 'print("old", 6 * 7)\n' } }],
      },
      (heard) => {
        seen.push(heard);
        return { calls: [{ name: 'sandbox_bash', input: { command: 'python3 a.py; exit 3' } }] };
      },
      (heard) => {
        seen.push(heard);
        return {
          calls: [
            { name: 'sandbox_edit', input: { path: 'a.py', old_text: 'old', new_text: 'new' } },
            { name: 'sandbox_files', input: { op: 'read', path: 'a.py' } },
            { name: 'sandbox_python', input: { code: chart } },
          ],
        };
      },
      (heard) => {
        seen.push(heard);
        return { text: 'Here it is.' };
      },
    );
  const chart =
    'import matplotlib\nmatplotlib.use("Agg")\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig("out/chart.png")\nplt.close()\n6 * 7';

  const check = (seen: Heard[][]): void => {
    const [wrote, ran, drew] = seen.map((heard) => heard.map(({ text }) => text));
    assert.deepEqual(wrote, ['wrote 20 bytes to a.py']);
    assert.deepEqual(ran, ['stdout:\nold 42\n\n\nexit code:\n3']);
    assert.deepEqual(drew, ['changed a.py', 'print("new", 6 * 7)\n', 'result:\n42']);
  };

  for (const model of ['chat', 'messages']) {
    test(`writes code, runs it, edits it and hands out a chart by a link that opens: openai, lane of ${model}`, async () => {
      for (const stream of [false, true]) {
        const seen: Heard[][] = [];
        works(seen);
        const client = new OpenAI({ baseURL: `${t.gateway.url}/v1`, apiKey: t.account.key, maxRetries: 0 });
        const request = { model, messages: question, tools: [box] } as unknown as OpenAI.ChatCompletionCreateParams;
        const answer = stream
          ? await client.chat.completions
              .stream({ ...request, stream: true, stream_options: { include_usage: true } })
              .finalChatCompletion()
          : ((await client.chat.completions.create(request)) as OpenAI.ChatCompletion);
        check(seen);
        const [choice] = answer.choices;
        const message = choice?.message as Json;
        const [artifact] = message.svc_sandbox.artifacts;
        assert.equal(artifact.path, 'out/chart.png');
        assert.equal(message.content, `I write it.\n\nHere it is.\n\n- [chart.png](${artifact.url})`);
        assert.deepEqual([choice?.finish_reason, message.tool_calls ?? []], ['stop', []]);
        assert.deepEqual([answer.usage?.prompt_tokens, answer.usage?.completion_tokens], [80, 36]);
        const { pathname, search } = new URL(artifact.url);
        const opened = await fetch(t.gateway.url + pathname + search);
        assert.equal(opened.status, 200);
        assert.match(Buffer.from(await opened.arrayBuffer()).toString('latin1'), /^.PNG/);
      }
      assert.deepEqual(await running(), []);
    });

    test(`does the same for @anthropic-ai/sdk, lane of ${model}`, async () => {
      const client = new Anthropic({ baseURL: t.gateway.url, apiKey: t.account.key, maxRetries: 0 });
      const request = {
        model,
        max_tokens: 500,
        messages: question,
        tools: [box],
      } as unknown as Anthropic.MessageCreateParams;
      for (const stream of [false, true]) {
        const seen: Heard[][] = [];
        works(seen);
        const answer = (
          stream
            ? await client.messages.stream({ ...request, stream: true }).finalMessage()
            : await client.messages.create(request)
        ) as Anthropic.Message;
        check(seen);
        const texts = answer.content.map((block) => (block.type === 'text' ? block.text : block.type));
        assert.match(texts.join('|'), /^I write it\.\|Here it is\.\|- \[chart\.png\]\(http.*signature=.*\)$/);
        assert.equal(answer.stop_reason, 'end_turn');
        assert.equal(answer.usage.output_tokens, 36);
        if (!stream) assert.equal((answer as Json).svc_sandbox.artifacts[0].path, 'out/chart.png');
      }
    });
  }

  test('requests of one session share a sandbox, each is told of what is new in it, and it lives an hour from its last use', async () => {
    const headers = session();
    t.script(
      { calls: [{ name: 'sandbox_python', input: { code: 'open("out/a", "w").write("1"); x = 1' } }] },
      { text: 'a' },
    );
    const first = (await chat({}, headers)).body.choices[0].message.svc_sandbox;
    t.script({ calls: [{ name: 'sandbox_python', input: { code: 'open("out/b", "w").write("2"); x' } }] }, (heard) => {
      assert.deepEqual(
        heard.map(({ text }) => text),
        ['result:\n1'],
      );
      return { text: 'b' };
    });
    const second = (await chat({}, headers)).body.choices[0].message.svc_sandbox;
    assert.equal(second.sandbox_id, first.sandbox_id);
    assert.deepEqual(
      [first, second].map(({ artifacts }) => artifacts.map(({ path }: Json) => path)),
      [['out/a'], ['out/b']],
    );
    const other = await chat({ tools: [{ ...box, template: 'desktop' }] }, headers);
    assert.deepEqual([other.status, other.body.error.message.startsWith('template: ')], [400, true]);
    await t.call('DELETE', `/v1/sandboxes/${first.sandbox_id}`);
    t.script({ calls: [{ name: 'sandbox_bash', input: { command: 'ls out | wc -l' } }] }, (heard) => {
      assert.match(heard[0]?.text ?? '', /^stdout:\n0/);
      return { text: 'c' };
    });
    const third = (await chat({}, headers)).body.choices[0].message.svc_sandbox;
    assert.notEqual(third.sandbox_id, first.sandbox_id);
    const stranger = await createAccount(t.gateway);
    t.script({ calls: [{ name: 'sandbox_bash', input: { command: 'ls out | wc -l' } }] }, { text: 'd' });
    const body = { model: 'chat', messages: question, tools: [box] };
    const theirs = await http(t.gateway.url, '/v1/chat/completions', { key: stranger.key, body, headers });
    assert.notEqual(theirs.body.choices[0].message.svc_sandbox.sandbox_id, third.sandbox_id);
    await t.clear();
  });

  test('an account has 1,000 sessions at most; the one that was used longest ago is forgotten first', async () => {
    const { sql } = t.gateway.kernel;
    await sql`insert into agent.sessions (account_id, name, sandbox_id, expires_at)
      select ${t.account.id}, 'old-' || n, gen_random_uuid(), now() + n * interval '1 second'
      from generate_series(1, 1000) n`;
    t.script({ calls: [{ name: 'sandbox_bash', input: { command: 'true' } }] }, { text: 'a' });
    await chat({}, { 'x-svc-session-id': 'newest' });
    const kept = await sql<{ name: string }[]>`select name from agent.sessions where account_id = ${t.account.id}`;
    const names = new Set(kept.map(({ name }) => name));
    assert.deepEqual([names.size, names.has('newest'), names.has('old-1')], [1_000, true, false]);
    await sql`delete from agent.sessions where account_id = ${t.account.id}`;
    await t.clear();
  });

  test('two requests of one session at once end with one sandbox', async () => {
    const headers = session();
    const turn = (heard: Heard[]) =>
      heard.length === 0
        ? { calls: [{ name: 'sandbox_bash', input: { command: 'sleep 1; echo done' } }] }
        : { text: heard[0]?.text ?? '' };
    t.script(turn, turn, turn, turn);
    const answers = await Promise.all([chat({}, headers), chat({}, headers)]);
    for (const { body } of answers) assert.match(body.choices[0].message.content, /^stdout:\ndone/);
    const ids = new Set(answers.map(({ body }) => body.choices[0].message.svc_sandbox.sandbox_id));
    assert.deepEqual([ids.size, (await running()).length], [1, 1]);
    await t.clear();
  });

  test('skills are told of, and containers of the protocol mean the same; what they cannot mean is refused', async () => {
    const skills = [{ type: 'anthropic', skill_id: 'xlsx', version: 'latest' }];
    for (const fields of [{ tools: [{ ...box, skills: ['xlsx'] }] }, { tools: undefined, container: { skills } }]) {
      t.script({ text: 'no need' });
      assert.equal((await chat(fields)).status, 200);
      const asked = t.provider.taken[0]?.body as Json;
      assert.match(asked.tools[0].function.description, /\.xlsx: \/opt\/svc\/skills\/xlsx\/SKILL\.md/);
      assert.equal(asked.container, undefined);
      assert.equal(asked.tools.length, 4);
    }
    const custom = [{ type: 'custom', skill_id: 'mine', version: 'latest' }];
    const refused: [object, RegExp][] = [
      [{ container: { skills: custom } }, /container\.skills/],
      [{ container: { id: 'container_1', skills } }, /container\.id/],
      [{ container: 'container_1' }, /container/],
      [{ container: { skills: [{ type: 'anthropic', skill_id: 'mp3', version: 'latest' }] } }, /skill_id/],
      [{ tools: [{ ...box, skills: ['doc'] }] }, /tools\.0\.skills\.0/],
      [{ tools: [{ ...box, egres: { mode: 'none' } }] }, /egres/],
      [{ tools: [{ ...box, egress: { mode: 'allowlist', domains: ['10.0.0.1'] } }] }, /tools\.0\.egress/],
      [{ tools: [box, box] }, /tools/],
      [{ tools: [box, { type: 'function', function: { name: 'sandbox_bash' } }] }, /sandbox_bash/],
      [{ n: 2 }, /n: must be 1/],
    ];
    for (const [fields, message] of refused) {
      const { status, body } = await chat(fields);
      assert.equal(status, 400, JSON.stringify(fields));
      assert.match(body.error.message, message);
    }
    assert.equal((await chat({}, { 'x-svc-session-id': 'a b' })).status, 400);
  });

  test('a tool of ours where there is none, and one that is misspelt, is refused with what to do', async () => {
    const ask = async (path: string, body: object) => {
      const answer = await http(t.gateway.url, path, { key: t.account.key, body });
      return [answer.status, answer.body.error.message];
    };
    assert.deepEqual(await ask('/v1/responses', { model: 'gpt', input: 'x', tools: [{ type: 'function' }, box] }), [
      400,
      'tools.1: svc_sandbox works at /v1/chat/completions and /v1/messages; send the request there',
    ]);
    const misspelt = { model: 'gpt', messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'svc_sandbx' }] };
    for (const [path, body] of [
      ['/v1/chat/completions', misspelt],
      ['/v1/messages', { ...misspelt, max_tokens: 10 }],
      ['/v1/responses', { model: 'gpt', input: 'x', tools: [{ type: 'svc_sandbx' }] }],
    ] as const)
      assert.deepEqual(await ask(path, body), [
        400,
        'tools.0.type: there is no tool "svc_sandbx"; those of this platform are svc_sandbox and exec_python',
      ]);
  });

  test('a key without the right to sandboxes is refused before a model is asked', async () => {
    t.script();
    const narrow = { name: 'narrow', scopes: ['chat'] };
    const { key } = (await t.call('POST', '/v1/keys', narrow)).body;
    const body = { model: 'chat', messages: question, tools: [box] };
    assert.equal((await http(t.gateway.url, '/v1/chat/completions', { key, body })).status, 403);
    assert.equal(t.provider.taken.length, 0);
  });

  test('a turn that calls a tool of the client’s too is the client’s, and runs none of ours', async () => {
    const tools = [box, { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    t.script({
      text: 'Both.',
      calls: [
        { name: 'sandbox_bash', input: { command: 'touch out/x' } },
        { name: 'weather', input: { city: 'Iași' } },
      ],
    });
    const { body } = await chat({ tools });
    const [{ message, finish_reason: finish }] = body.choices;
    assert.deepEqual(
      message.tool_calls.map((call: Json) => call.function.name),
      ['weather'],
    );
    assert.deepEqual([finish, message.content, message.svc_sandbox], ['tool_calls', 'Both.', undefined]);
  });

  test('what goes wrong in a tool is told to the model, which may try otherwise', async () => {
    t.script(
      {
        calls: [
          { name: 'sandbox_bash', input: '{"command": ' },
          { name: 'sandbox_bash', input: { cmd: 'ls' } },
          { name: 'sandbox_files', input: { op: 'read', path: '../../etc/passwd' } },
          { name: 'sandbox_edit', input: { path: 'none.txt', old_text: 'a', new_text: 'b' } },
          { name: 'sandbox_bash', input: { command: 'sleep 60', timeout_seconds: 1 } },
        ],
      },
      (heard) => {
        const texts = heard.map(({ text }) => text);
        assert.match(texts[0] ?? '', /not valid JSON/);
        assert.match(texts[1] ?? '', /bad_request: /);
        assert.match(texts[2] ?? '', /bad_request|not_found/);
        assert.match(texts[3] ?? '', /not_found/);
        assert.match(texts[4] ?? '', /took too long/);
        return { text: 'I give up.' };
      },
    );
    assert.equal((await chat({})).body.choices[0].message.content, 'I give up.');
  });

  test('an upstream that fails after a tool ran says that the request must not be sent again by itself', async () => {
    const down = { act: (response: ServerResponse) => void response.writeHead(500).end() };
    t.script({ calls: [{ name: 'sandbox_bash', input: { command: 'true' } }] }, down);
    const answer = await chat({});
    assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [502, 'false']);
    t.script({ text: 'Well,', calls: [{ name: 'sandbox_bash', input: { command: 'true' } }] }, down);
    const stream = await streamed(t, { model: 'chat', messages: question, tools: [box], stream: true });
    assert.match(stream, /Well,[^]*upstream_error/);
    assert.doesNotMatch(stream, /\[DONE\]|finish_reason":"/);
    await until(async () => (await running()).length === 0);
  });

  test('a client that leaves ends the command and the sandbox', async () => {
    t.script({ calls: [{ name: 'sandbox_bash', input: { command: 'sleep 600' } }] });
    const abort = new AbortController();
    const body = JSON.stringify({ model: 'chat', messages: question, tools: [box], stream: true });
    const headers = { authorization: `Bearer ${t.account.key}`, 'content-type': 'application/json' };
    const asked = await fetch(`${t.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body,
      signal: abort.signal,
    });
    assert.equal(asked.status, 200);
    await until(async () => (await running()).length === 1);
    abort.abort();
    await until(async () => (await running()).length === 0);
  });

  test('25 turns are the most, and the usage of all of them is one request’s', async () => {
    t.script(...Array.from({ length: 25 }, () => ({ calls: [{ name: 'sandbox_files', input: { op: 'list' } }] })));
    const trace = randomUUID();
    const { body } = await chat({}, { 'x-request-id': trace });
    assert.equal(body.choices[0].finish_reason, 'length');
    assert.equal(body.usage.prompt_tokens, 500);
    const path = `/v1/receipt?trace_id=${trace}`;
    await until(async () => (await t.call('GET', path)).status === 200);
    const receipt = await t.call('GET', path);
    assert.deepEqual([receipt.body.usage.input_tokens, receipt.body.usage.output_tokens], [500, 225]);
  });

  test('a key that comes to its cap between two turns gets what was said until then', async () => {
    const body = { name: 'capped', spend_cap_micro_usd: 10 };
    const { key } = (await t.call('POST', '/v1/keys', body)).body;
    t.script({ text: 'So far.', calls: [{ name: 'sandbox_bash', input: { command: 'echo kept > out/kept' } }] });
    const request = { model: 'priced', messages: question, tools: [box] };
    const { status, body: said } = await http(t.gateway.url, '/v1/chat/completions', { key, body: request });
    const [{ message, finish_reason: finish }] = said.choices;
    assert.deepEqual([status, finish, message.svc_sandbox.artifacts.length], [200, 'length', 1]);
    assert.match(message.content, /^So far\./);
    assert.equal((await http(t.gateway.url, '/v1/chat/completions', { key, body: request })).status, 429);
  });

  test('exec_python is Python alone, on the same backend', async () => {
    t.script(
      { calls: [{ name: 'exec_python', input: { code: 'open("out/n", "w").write("n")\n2 ** 10' } }] },
      (heard) => {
        assert.equal(heard[0]?.text, 'result:\n1024');
        return { text: 'ok' };
      },
    );
    const { body } = await chat({ tools: [{ type: 'exec_python' }] });
    assert.equal(body.choices[0].message.svc_sandbox.artifacts[0].path, 'out/n');
    const asked = t.provider.taken[0]?.body as Json;
    assert.deepEqual(
      asked.tools.map((tool: Json) => tool.function.name),
      ['exec_python'],
    );
  });
});

/** Reads a stream to its end. */
async function streamed({ gateway, account }: { gateway: { url: string }; account: { key: string } }, body: object) {
  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await fetch(`${gateway.url}/v1/chat/completions`, sent)).text();
}
