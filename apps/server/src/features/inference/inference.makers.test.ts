import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { objectOf, objectsOf, type Value } from '@svc/inference';
import { streamedCalls } from '../../../../../packages/inference/src/fixtures/makers.ts';
import { signedTurns } from '../../../../../packages/inference/src/fixtures/signed.ts';
import { shared } from '../../testing.shared.ts';
import { agents, type Round } from './inference.agents.testing.ts';
import { type Spoken, spokenChat, spokenMessages, spokenResponses, strictMaker } from './inference.strict.testing.ts';
import { openModels } from './inference.testing.ts';

/** What a maker says, and what its model meant by it. */
interface Row {
  what: string;
  model: string;
  spoken: Spoken;
  calls: readonly (readonly [name: string, input: Value])[];
  /** Said in one form alone. */
  only?: 'stream' | 'whole';
  /** What stands in the model's turn of the second request, and the agents that give it back. */
  back?: { isThere: (body: Value) => boolean; by: readonly string[] };
}

type Calls = Row['calls'];
const [iasi, bacau] = [{ city: 'Iași' }, { city: 'Bacău' }];
const two: Calls = [
  ['weather', iasi],
  ['time', bacau],
];
const many: Calls = Array.from({ length: 200 }, (_, at) => ['weather', { at }]);

const rowsOfChat = [
  ...streamedCalls.map(({ maker, chunks, calls }): Row => {
    const deltas = chunks.map((one) => ({ tool_calls: one }));
    return { what: maker, model: 'chat', spoken: spokenChat(deltas, {}, 'chat', 'stop'), calls, only: 'stream' };
  }),
  ...(
    [
      ['one id for two calls', two, () => ({ id: 'call_1' })],
      ['no ids', two, () => ({})],
      ['empty ids and no type', two, () => ({ id: '', type: undefined })],
      ['200 calls side by side, numbered 0', many, (at: number) => ({ id: `call_${at}`, index: 0 })],
    ] as const
  ).map(([what, calls, fields]): Row => {
    const entries = calls.map(([name, input], at) => ({
      type: 'function',
      ...fields(at),
      function: { name, arguments: JSON.stringify(input) },
    }));
    const deltas = entries.map((one) => ({ tool_calls: [one] }));
    return { what, model: 'chat', spoken: spokenChat(deltas, { tool_calls: entries }, 'chat'), calls };
  }),
  {
    what: 'inputs as objects, whole',
    model: 'chat',
    spoken: spokenChat(
      [],
      {
        tool_calls: two.map(([name, input], at) => ({
          id: `c${at}`,
          type: 'function',
          function: { name, arguments: input },
        })),
      },
      'chat',
    ),
    calls: two,
    only: 'whole',
  } satisfies Row,
];

/** Calls of messages: how each is numbered and named, and whether they stand side by side. */
function rowOfMessages(
  what: string,
  calls: Calls,
  idOf: (at: number) => string,
  placeOf: (at: number) => number,
  signature = 'c2ln',
): Row {
  const uses = calls.map(([name, input], at) => ({ type: 'tool_use', id: idOf(at), name, input }));
  const thought = { type: 'thinking', thinking: 'They want weather.', signature };
  const blocks = [thought, ...uses];
  const first = placeOf(-1);
  const thinking = [
    { type: 'content_block_start', index: first, content_block: { ...thought, thinking: '', signature: '' } },
    ...['They want ', 'weather.'].map((part) => ({
      type: 'content_block_delta',
      index: first,
      delta: { type: 'thinking_delta', thinking: part },
    })),
    { type: 'content_block_delta', index: first, delta: { type: 'signature_delta', signature: thought.signature } },
    { type: 'content_block_stop', index: first },
  ];
  const steps = calls.map(([, input], at) => {
    const index = placeOf(at);
    const json = JSON.stringify(input);
    return [
      { type: 'content_block_start', index, content_block: { ...uses[at], input: {} } },
      ...[json.slice(0, 5), json.slice(5)].map((partial_json) => ({
        type: 'content_block_delta',
        index,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index },
    ];
  });
  const areMixed = what.includes('mixed');
  const mixed = [0, 1, 2, 3].flatMap((step) => steps.flatMap((one) => one.slice(step, step + 1)));
  return {
    what,
    model: 'messages',
    spoken: spokenMessages([...thinking, ...(areMixed ? mixed : steps.flat())], blocks),
    calls,
  };
}

const rowsOfMessages = [
  rowOfMessages(
    'as its maker says them',
    two,
    (at) => `toolu_${at}`,
    (at) => at + 1,
  ),
  rowOfMessages(
    'all numbered 0',
    two,
    (at) => `toolu_${at}`,
    () => 0,
  ),
  rowOfMessages(
    'one id for two calls',
    two,
    () => 'toolu_1',
    (at) => at + 1,
  ),
  rowOfMessages(
    'one id and one number for two calls',
    two,
    () => 'toolu_1',
    () => 0,
  ),
  rowOfMessages(
    'mixed with each other',
    two,
    (at) => `toolu_${at}`,
    (at) => at + 1,
  ),
  rowOfMessages(
    'no ids',
    two,
    () => '',
    (at) => at + 1,
  ),
  rowOfMessages(
    '200 side by side',
    many,
    (at) => `toolu_${at}`,
    (at) => at + 1,
  ),
];

/** Calls of responses: `numbered` has the item's id and place in each event. */
function rowOfResponses(
  what: string,
  calls: Calls,
  idOf: (at: number) => string,
  numbered: (at: number, event: number) => { item_id: string; output_index: number },
  sealed?: string,
): Row {
  const thought = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'They want weather.' }],
    encrypted_content: sealed,
  };
  const thinking = [
    { type: 'response.output_item.added', output_index: 0, item: { ...thought, summary: [], encrypted_content: '' } },
    { type: 'response.output_item.done', output_index: 0, item: thought },
  ];
  const thoughts = sealed === undefined ? [] : [thought];
  const output = calls.map(([name, input], at) => ({
    id: `fc_${at}`,
    type: 'function_call',
    status: 'completed',
    call_id: idOf(at),
    name,
    arguments: JSON.stringify(input),
  }));
  let event = 0;
  const steps = output.flatMap((item, at): Value[] => {
    const place = () => numbered(at, event++);
    const first = place();
    const added = { ...item, id: first.item_id, arguments: '' };
    return [
      { type: 'response.output_item.added', ...first, item: added },
      { type: 'response.function_call_arguments.delta', ...place(), delta: item.arguments },
      { type: 'response.function_call_arguments.done', ...place(), name: item.name, arguments: item.arguments },
      { type: 'response.output_item.done', ...place(), item },
    ];
  });
  return {
    what,
    model: 'responses',
    spoken: spokenResponses([...thoughts.flatMap(() => thinking), ...steps], [...thoughts, ...output]),
    calls,
  };
}

const rowsOfResponses = [
  rowOfResponses(
    'as its maker says them',
    two,
    (at) => `call_${at}`,
    (at) => ({
      item_id: `fc_${at}`,
      output_index: at,
    }),
  ),
  rowOfResponses(
    'all at place 0',
    two,
    (at) => `call_${at}`,
    (at) => ({ item_id: `fc_${at}`, output_index: 0 }),
  ),
  rowOfResponses(
    'another id in each event',
    two,
    (at) => `call_${at}`,
    (at, event) => ({
      item_id: `x${event}`,
      output_index: at,
    }),
  ),
  rowOfResponses(
    'one id for two calls',
    two,
    () => 'call_1',
    (at) => ({ item_id: `fc_${at}`, output_index: at }),
  ),
  rowOfResponses(
    '200 side by side',
    many,
    (at) => `call_${at}`,
    (at) => ({
      item_id: `fc_${at}`,
      output_index: at,
    }),
  ),
];

/** The model's turn in a request of chat completions. */
const turnIn = (body: Value): Value => objectsOf(body['messages']).find(({ role }) => role === 'assistant') ?? {};
/** What a server of chat completions wants back of a turn. */
const signsOf = (turn: Value): unknown => [
  turn['extra_content'],
  turn['reasoning_content'],
  turn['reasoning_details'],
  objectsOf(turn['tool_calls']).map((call) => call['extra_content']),
];
const signed = ['messages', 'ai over messages', 'responses', 'ai over responses', 'chat whole'];

const rowsOfSigned = [
  ...signedTurns.map(({ maker, model, deltas, message }): Row => {
    const calls = objectsOf(message['tool_calls']).map(({ function: said }) => {
      const { name, arguments: input } = objectOf(said) as { name: string; arguments: string };
      return [name, JSON.parse(input) as Value] as const;
    });
    const isThere = (body: Value) => isDeepStrictEqual(signsOf(turnIn(body)), signsOf(message));
    return { what: maker, model, spoken: spokenChat(deltas, message, model), calls, back: { isThere, by: signed } };
  }),
  ...[16, 1024 * 1024].map((length): Row => {
    const signature = 's'.repeat(length);
    const row = rowOfMessages(
      `a signature of ${length} letters`,
      two,
      (at) => `toolu_${at}`,
      (at) => at + 1,
      signature,
    );
    const [thought] = objectsOf((row.spoken.whole as Value)['content']);
    const isThere = (body: Value): boolean => {
      const [first] = objectsOf(turnIn(body)['content']);
      return first?.['signature'] === signature && first['thinking'] === thought?.['thinking'];
    };
    return { ...row, back: { isThere, by: [...signed, 'chat streamed'] } };
  }),
  ...[16, 1024 * 1024].map((length): Row => {
    const row = rowOfResponses(
      `thinking that is sealed, of ${length} letters`,
      two,
      (at) => `call_${at}`,
      (at) => ({ item_id: `fc_${at}`, output_index: at + 1 }),
      'e'.repeat(length),
    );
    const isThere = (body: Value) =>
      objectsOf(body['input']).some((one) => one['encrypted_content'] === 'e'.repeat(length));
    return { ...row, back: { isThere, by: [...signed, 'chat streamed'] } };
  }),
];

describe('an agent of a real client calls the right tools with the right inputs, and its second turn is accepted', () => {
  const { gateway, account, providers } = shared(() =>
    openModels<'main'>(['main'], ({ main }) => ({
      lanes: [
        {
          id: 'chat',
          kind: 'openai',
          base_url: `${main}/v1`,
          models: ['chat', ...new Set(signedTurns.map(({ model }) => model))],
        },
        { id: 'messages', kind: 'anthropic', base_url: main, models: [{ name: 'messages', as: 'claude-sonnet-4-5' }] },
        {
          id: 'responses',
          kind: 'responses',
          base_url: `${main}/v1`,
          models: [{ name: 'responses', as: 'gpt-5.1' }],
        },
      ],
    })),
  );
  beforeEach(() => void (providers.main.taken.length = 0));

  async function isRight(row: Row, agent: string, stream: boolean): Promise<void> {
    const form = stream ? 'streamed' : 'whole';
    const gives = row.back?.by.some((one) => one === agent || one === `${agent} ${form}`) === true;
    providers.main.script = strictMaker(row.spoken, (body) =>
      gives && row.back?.isThere(body) === false ? 'what it wants back is missing' : undefined,
    );
    const { url } = gateway;
    const run = agents[agent] ?? assert.fail();
    const round: Round = await run({ url, key: account.key, model: row.model, stream });
    assert.deepEqual(round, { calls: row.calls, text: 'It is warm.' });
  }

  for (const [at, row] of [...rowsOfChat, ...rowsOfMessages, ...rowsOfResponses, ...rowsOfSigned].entries()) {
    for (const agent of Object.keys(agents)) {
      // Each maker's stream to its own clients; to those of another protocol in turn, as the package tries them all.
      if (row.only === 'stream' && agent === (at % 2 === 0 ? 'messages' : 'responses')) continue;
      for (const stream of [false, true]) {
        if (row.only && (row.only === 'stream') !== stream) continue;
        if (agent === 'chat by hand' && !stream) continue;
        // The helper of this client takes 128 calls at most.
        if (agent === 'chat' && stream && row.calls === many) continue;
        // Its other forms are those of `messages` and `responses`: a few rows show that it reads them.
        const isSecondForm = agent === 'ai over messages' || agent === 'ai over responses';
        if (isSecondForm && row.model === 'chat' && row.calls !== two) continue;
        if (row.calls === many && (agent.startsWith('ai') || (!stream && agent !== row.model))) continue;
        test(`${row.spoken.protocol} to ${agent}, ${stream ? 'streamed' : 'whole'}: ${row.what}`, () =>
          isRight(row, agent, stream));
      }
    }
  }
});
