import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { SettingName } from '../../config.ts';
import { providersFile, streams, type Taken, TestProvider } from '../inference/inference.testing.ts';
import { openSandboxes, type SandboxesTest } from '../sandboxes/sandboxes.testing.ts';

/** One turn of a scripted model. */
interface Said {
  text?: string;
  calls?: readonly { name: string; input: unknown }[];
  finish?: 'length';
}

/** A tool's answer as the model got it. */
export interface Heard {
  id: string;
  text: string;
}

const usage = { input: 20, output: 9 };
let calls = 0;

/** A turn as chat completions stream it. */
function chatTurn({ text, calls: made = [], finish }: Said, { input, output } = usage): string[] {
  const chunk = (delta: object, reason: string | null = null, more: object = {}): string =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-7',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'small-1',
      choices: [{ index: 0, delta, finish_reason: reason }],
      ...more,
    })}\n\n`;
  const tools = made.map(({ name, input }, index) => {
    const text = typeof input === 'string' ? input : JSON.stringify(input);
    return { index, id: `call_${++calls}`, type: 'function', function: { name, arguments: text } };
  });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(text === undefined ? [] : [chunk({ content: text })]),
    ...tools.map((tool) => chunk({ tool_calls: [tool] })),
    chunk({}, finish ?? (made.length > 0 ? 'tool_calls' : 'stop')),
    `data: ${JSON.stringify({ id: 'chatcmpl-7', choices: [], usage: { prompt_tokens: input, completion_tokens: output } })}\n\n`,
    'data: [DONE]\n\n',
  ];
}

/** A turn as messages stream it. */
function messagesTurn({ text, calls: made = [], finish }: Said): string[] {
  const event = (type: string, fields: object = {}): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const message = {
    id: 'msg_7',
    type: 'message',
    role: 'assistant',
    model: 'small-1',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: usage.input, output_tokens: 1 },
  };
  const blocks = [
    ...(text === undefined
      ? []
      : [
          [
            { type: 'text', text: '' },
            { type: 'text_delta', text },
          ] as const,
        ]),
    ...made.map(({ name, input }) => {
      const json = typeof input === 'string' ? input : JSON.stringify(input);
      const start = { type: 'tool_use', id: `toolu_${++calls}`, name, input: {} };
      return [start, { type: 'input_json_delta', partial_json: json }] as const;
    }),
  ];
  const reason = finish === 'length' ? 'max_tokens' : made.length > 0 ? 'tool_use' : 'end_turn';
  return [
    event('message_start', { message }),
    ...blocks.flatMap(([start, delta], index) => [
      event('content_block_start', { index, content_block: start }),
      event('content_block_delta', { index, delta }),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', {
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: usage.output },
    }),
    event('message_stop'),
  ];
}

/** The tools' answers in the last turn of a request. */
function heardIn({ path, body }: Taken): Heard[] {
  const messages = body['messages'] as { role: string; content: unknown; tool_call_id?: string }[];
  if (path.endsWith('/messages')) {
    const { content } = messages.at(-1) ?? assert.fail('no turn');
    if (typeof content === 'string') return [];
    return (content as { type: string; tool_use_id: string; content: string }[])
      .filter(({ type }) => type === 'tool_result')
      .map(({ tool_use_id: id, content: text }) => ({ id, text }));
  }
  const last = messages.findLastIndex(({ role }) => role !== 'tool');
  return messages.slice(last + 1).map(({ tool_call_id: id = '', content }) => ({ id, text: String(content) }));
}

/** A scripted model on a lane of each protocol, `chat` and `messages`. */
interface Model extends AsyncDisposable {
  provider: TestProvider;
  /** For the gateway. */
  settings: Partial<Record<SettingName, string>>;
  /** The turns that the model says next, whichever protocol it is asked in. A function hears what the tools said. */
  script(...turns: Turn[]): void;
  /** From now on each turn costs all that it may; answers what the dearest of them cost, micro-USD (lane `priced`). */
  takesAll(): () => number;
}

/** One turn of a script; `act`: the provider does something else. */
type Turn = Said | ((heard: Heard[]) => Said) | { act: (response: ServerResponse) => void };

/** Opens a scripted model. */
export async function openModel(lane: 'chat' | 'priced' = 'chat'): Promise<Model> {
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(new TestProvider());
  const { url } = await provider.listen();
  const file = opening.use(
    providersFile({
      lanes: [
        { id: 'chat', kind: 'openai', base_url: `${url}/v1`, models: [{ name: 'chat', as: 'small-1' }] },
        {
          id: 'priced',
          kind: 'openai',
          base_url: `${url}/v1`,
          models: [{ name: 'priced', as: 'dear-1' }],
          prices: { 'dear-1': { input: 1, output: 1 } },
        },
        { id: 'messages', kind: 'anthropic', base_url: url, models: [{ name: 'messages', as: 'small-1' }] },
      ],
      aliases: { svc: [lane] },
    }),
  );
  const script: Model['script'] = (...turns) => {
    const left = [...turns];
    provider.taken.length = 0;
    provider.script = async (response, taken) => {
      const next = left.shift() ?? assert.fail('the model was asked once more than the script says');
      if ('act' in next) return next.act(response);
      const said = typeof next === 'function' ? next(heardIn(taken)) : next;
      await streams(...(taken.path.endsWith('/messages') ? messagesTurn : chatTurn)(said))(response, taken);
    };
  };
  const takesAll = (): (() => number) => {
    let dearest = 0;
    provider.script = async (response, taken) => {
      const { max_completion_tokens: newer = 0, max_tokens: older = 0 } = taken.body as Record<string, number>;
      const most = { input: taken.raw.length, output: Math.max(newer, older) };
      dearest = Math.max(dearest, most.input + most.output);
      await streams(...chatTurn({ text: 'Yes.' }, most))(response, taken);
    };
    return () => dearest;
  };
  const all = opening.move();
  const settings = { SVC_PROVIDERS: file.path };
  return { provider, script, takesAll, settings, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** A gateway with a scripted model, and the node of the tests. */
type AgentTest = SandboxesTest & Model;

/** Opens it. */
export async function openAgent(settings: Model['settings'] = {}): Promise<AgentTest> {
  await using opening = new AsyncDisposableStack();
  const model = opening.use(await openModel());
  const t = opening.use(await openSandboxes({ settings: { ...model.settings, ...settings } }));
  const all = opening.move();
  return { ...model, ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
