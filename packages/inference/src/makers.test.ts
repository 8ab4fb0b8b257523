import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UnsignedThoughts } from './chat.thoughts.ts';
import { dialectOf } from './dialect.ts';
import { finishedCalls } from './fixtures/finishes.ts';
import { streamedCalls } from './fixtures/makers.ts';
import { signedTurns } from './fixtures/signed.ts';
import { CallIds, tooManyCalls } from './ids.ts';
import { hasTooManyCalls, mendedReply } from './mended.ts';
import { type Event, plainText, type Reply } from './model.ts';
import { type Protocol, protocols } from './protocol.ts';
import { ReplyReader } from './reply.ts';
import { missingSignatures } from './sealed.ts';
import { frameOf, SseReader } from './sse.ts';
import { withoutSealed } from './thoughts.ts';
import { objectsOf, type Value } from './values.ts';
import { type StreamReader, wires } from './wires.ts';

/** The frames of a text, with what the reader makes of each. */
function read(reader: StreamReader, text: string): { events: Event[]; raw: string }[] {
  return new SseReader().push(Buffer.from(text)).map((frame) => {
    const events = reader.push(frame);
    return { events, raw: reader.mended ?? frame.raw.toString() };
  });
}

function replyOf(events: readonly Event[]): Reply {
  const reading = new ReplyReader();
  for (const event of events) reading.push(event);
  return reading.reply;
}

/** What another protocol's client has of these events. */
function heardAs(protocol: Protocol, events: readonly Event[]): Reply {
  const writer = wires[protocol].writer({ created: 1, tellsUsage: true });
  const text = events.flatMap((event) => writer.push(event)).join('');
  return replyOf(read(wires[protocol].reader(), text).flatMap((one) => one.events));
}

const callsOf = ({ blocks }: Reply) =>
  blocks.flatMap((block) => (block.type === 'call' ? [[block.name, JSON.parse(block.input) as unknown]] : []));
const idsOf = ({ blocks }: Reply) => blocks.flatMap((block) => (block.type === 'call' ? [block.id] : []));

/** A stream of chat completions with these deltas. */
function chatStream(deltas: readonly Value[], finish: string, model = 'm'): string {
  const chunk = (delta: Value, reason: string | null = null) =>
    frameOf({ id: 'chatcmpl-7', model, choices: [{ index: 0, delta, finish_reason: reason }] });
  return [...deltas.map((delta) => chunk(delta)), chunk({}, finish), frameOf('[DONE]')].join('');
}

/** Calls as a client collects them that goes by their index alone, as OpenAI's own do. */
function collected(text: string, takesFirstName = false): unknown[] {
  const calls: { id: string; name: string; input: string }[] = [];
  for (const { data = '' } of new SseReader().push(Buffer.from(text))) {
    if (data === '[DONE]') continue;
    for (const call of JSON.parse(data).choices[0]?.delta.tool_calls ?? []) {
      const known = (calls[call.index] ??= { id: '', name: '', input: '' });
      if (call.id) known.id = call.id;
      if (!takesFirstName || known.name === '') known.name += call.function?.name ?? '';
      known.input += typeof call.function?.arguments === 'string' ? call.function.arguments : '';
    }
  }
  assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length);
  return calls.map(({ name, input }) => [name, JSON.parse(input || '{}')]);
}

describe('calls that a maker streams in its own way', () => {
  const withNames = { tools: ['time', 'weather', 'weather_at'] };
  for (const [{ maker, chunks, calls, needsTools }, options] of streamedCalls.flatMap((one) =>
    [{}, withNames].map((named) => [one, named] as const),
  )) {
    if (needsTools && options !== withNames) continue;
    const text = chatStream(
      chunks.map((one) => ({ tool_calls: one })),
      'stop',
    );
    const how = options === withNames ? ', with the names of its tools' : '';
    test(`are those that the model meant, one by one, in every protocol: ${maker}${how}`, () => {
      const frames = read(wires.chat.reader(options), text);
      const events = frames.flatMap((one) => one.events);
      for (const reply of [replyOf(events), ...protocols.map((one) => heardAs(one, events))]) {
        assert.deepEqual(callsOf(reply), calls);
        assert.equal(new Set(idsOf(reply)).size, calls.length, 'each has an id of its own');
        assert.equal(reply.finish, 'calls');
      }
      const told = frames.map(({ raw }) => raw).join('');
      assert.deepEqual(collected(told), calls);
      if (options === withNames) assert.deepEqual(collected(told, true), calls, 'its first name is all of it');
    });
  }

  test('are told at the end where no more of their names came', () => {
    const text = chatStream(
      [{ tool_calls: [{ index: 0, id: 'a', function: { name: 'weat', arguments: '' } }] }],
      'stop',
    );
    const frames = read(wires.chat.reader({ tools: ['weather'] }), text);
    assert.deepEqual(collected(frames.map(({ raw }) => raw).join('')), [['weat', {}]]);
  });

  test('stay byte for byte what they were where they are numbered as OpenAI numbers them', () => {
    const { chunks } = streamedCalls.find(({ maker }) => maker.startsWith('OpenAI')) ?? assert.fail();
    const said = chunks.map((one): Value => ({ role: 'assistant', tool_calls: one }));
    const text = chatStream(said, 'tool_calls');
    assert.equal(
      read(wires.chat.reader(), text)
        .map(({ raw }) => raw)
        .join(''),
      text,
    );
  });

  test('are 200 side by side, whatever their numbers', () => {
    const meant = Array.from({ length: 200 }, (_, at) => ['weather', { at }]);
    const fragments = meant.map(([, input], at) => ({
      index: 0,
      id: `call_${at}`,
      function: { name: 'weather', arguments: JSON.stringify(input) },
    }));
    const text = chatStream(
      fragments.map((one) => ({ tool_calls: [one] })),
      'stop',
    );
    const events = read(wires.chat.reader(), text).flatMap((one) => one.events);
    for (const one of protocols) assert.deepEqual(callsOf(heardAs(one, events)), meant);
  });

  test('have ids of their own in a whole answer, which differ from those of the answer before', () => {
    const answer = (id: string, ids: (string | undefined)[]) => ({
      id,
      model: 'm',
      choices: [{ message: { tool_calls: ids.map((one) => ({ id: one, function: { name: 'f', arguments: '{}' } })) } }],
    });
    const given = ['', undefined, 'call_1', 'call_1'];
    const [first, second] = ['chatcmpl-a', 'chatcmpl-b'].map((id) => idsOf(wires.chat.readReply(answer(id, given))));
    assert.equal(new Set([...(first ?? []), ...(second?.slice(0, 2) ?? [])]).size, 6);
    assert.deepEqual(first?.slice(2), ['call_1', 'call_1_2']);
    const output = ['a', 'a'].map((id) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' }));
    assert.deepEqual(idsOf(wires.responses.readReply({ id: 'resp_1', output })), ['a', 'a_2']);
  });
});

describe('the finish of a streamed answer', () => {
  for (const { maker, chunks, calls, input } of finishedCalls) {
    test(`counts once, and cuts nothing: ${maker}`, () => {
      const text = [...chunks.map((one) => frameOf(one)), frameOf('[DONE]')].join('');
      const frames = read(wires.chat.reader({ tools: ['time'] }), text);
      const events = frames.flatMap((one) => one.events);
      assert.equal(events.at(-1)?.type, 'end');
      assert.equal(events.filter(({ type }) => type === 'finish').length, 1);
      const closed = events.flatMap((event) => (event.type === 'close' ? [event.index] : []));
      assert.equal(new Set(closed).size, closed.length, 'no block ends twice');
      assert.deepEqual(collected(frames.map(({ raw }) => raw).join('')), calls);
      for (const reply of [replyOf(events), ...protocols.map((one) => heardAs(one, events))]) {
        assert.deepEqual(callsOf(reply), calls);
        assert.equal(reply.finish, calls.length > 0 ? 'calls' : 'stop');
        assert.equal(reply.usage?.input, input);
      }
    });
  }

  test('said in each chunk loses nothing of what follows', () => {
    const chunk = (delta: Value) =>
      frameOf({ id: 'chatcmpl-7', model: 'm', choices: [{ index: 0, delta, finish_reason: 'stop' }] });
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'time', arguments: '{}' } };
    const text = [{ role: 'assistant', content: 'Now ' }, { content: 'then' }, { tool_calls: [call] }].map(chunk);
    const events = read(wires.chat.reader(), text.join('') + frameOf('[DONE]')).flatMap((one) => one.events);
    for (const one of protocols) {
      const reply = heardAs(one, events);
      assert.equal(plainText(reply.blocks), 'Now then');
      assert.deepEqual(callsOf(reply), [['time', {}]]);
    }
    assert.equal(heardAs('messages', events).finish, 'calls');
  });
});

describe('a call that is not told at once', () => {
  const extra_content = { google: { thought_signature: 'AY89' } };
  const piece = (name: string | undefined, input: string, more: Value = {}) => ({
    tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: input }, ...more }],
  });
  for (const [what, deltas] of [
    ['with its name', [piece('wea', '', { extra_content }), piece('ther', ''), piece(undefined, '{}')]],
    ['while it waits for it', [piece('wea', ''), { tool_calls: [{ index: 0, extra_content }] }, piece('ther', '{}')]],
    ['and the answer ends there', [piece('weat', '', { extra_content })]],
    [
      'as it is said once more',
      [piece('weather', ''), piece(undefined, '{}'), piece('weather', '{}', { extra_content })],
    ],
    ['each time it is said', [piece('weather', '{}', { extra_content }), piece('weather', '{}', { extra_content })]],
  ] as const) {
    test(`has its signature once for every client, where that comes ${what}`, () => {
      const text = chatStream([{ role: 'assistant' }, ...deltas], 'tool_calls', 'gemini-3-pro');
      const frames = read(wires.chat.reader({ tools: ['weather'] }), text);
      const told = frames.map(({ raw }) => raw).join('');
      assert.equal(collected(told).length, 1);
      assert.equal(told.match(/AY89/g)?.length, 1, told);
      const events = frames.flatMap((one) => one.events);
      const conversation = wires.messages.readRequest(nextOf('messages', heardAs('messages', events)));
      const turn = turnIn(wires.chat.writeRequest(conversation, 'gemini-3-pro'));
      assert.deepEqual(objectsOf(turn?.['tool_calls'])[0]?.['extra_content'], extra_content);
    });
  }

  for (const [finish, ends] of [
    ['length', []],
    ['content_filter', []],
    ['stop', [['time', {}]]],
  ] as const) {
    test(`and has no input: what is heard of it at the finish "${finish}", streamed and whole`, () => {
      const [before, cut] = [
        { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"a":1}' } },
        { index: 1, id: 'call_2', type: 'function', function: { name: 'time', arguments: '' } },
      ];
      const wanted = [['weather', { a: 1 }], ...ends];
      for (const tools of [['weather', 'time', 'timer'], ['weather', 'timetable'], []]) {
        const frames = read(
          wires.chat.reader({ tools }),
          chatStream([{ tool_calls: [before] }, { tool_calls: [cut] }], finish),
        );
        const events = frames.flatMap((one) => one.events);
        for (const reply of [replyOf(events), ...protocols.map((one) => heardAs(one, events))])
          assert.deepEqual(callsOf(reply), wanted);
        const isMade = frames.some(({ raw }) => raw.includes('{}"'));
        assert.equal(isMade, ends.length > 0);
      }
      const whole = { id: 'a', choices: [{ message: { tool_calls: [before, cut] }, finish_reason: finish }] };
      assert.deepEqual(callsOf(wires.chat.readReply(whole)), wanted);
      const { choices } = { ...whole, ...mendedReply('chat', whole) };
      assert.equal(choices[0]?.message.tool_calls[1]?.function.arguments, ends.length > 0 ? '{}' : '');
    });
  }

  test('and has half of its input: responses call it incomplete, and messages do not tell it as whole', () => {
    const calls = ['{"a":1}', '{"zone":"Eu'].map((input, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: { name: `tool_${index}`, arguments: input },
    }));
    const ofFinish = (finish: string) => {
      const whole = { id: 'a', choices: [{ message: { tool_calls: calls }, finish_reason: finish }] };
      const reply = wires.chat.readReply(whole);
      const deltas = calls.map((call) => ({ tool_calls: [call] }));
      const events = read(wires.chat.reader(), chatStream(deltas, finish)).flatMap((one) => one.events);
      const writer = wires.responses.writer({ created: 1, tellsUsage: true });
      const frames = new SseReader().push(Buffer.from(events.flatMap((event) => writer.push(event)).join('')));
      const told = frames.map(({ data = '' }) => JSON.parse(data) as Value);
      const statuses = (items: unknown) => objectsOf(items).map(({ status }) => status);
      return {
        whole: statuses(wires.responses.writeReply(reply, 1)['output']),
        items: statuses(told.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)),
        last: statuses(
          told.flatMap(({ type, response }) =>
            type === 'response.incomplete' || type === 'response.completed'
              ? objectsOf((response as Value)['output'])
              : [],
          ),
        ),
        inputs: told.filter(({ type }) => type === 'response.function_call_arguments.done').length,
        messages: objectsOf(wires.messages.writeReply(reply, 1)['content']).map(({ name }) => name),
      };
    };
    const cut = ['completed', 'incomplete'];
    assert.deepEqual(ofFinish('length'), { whole: cut, items: cut, last: cut, inputs: 1, messages: ['tool_0'] });
    // A model that ended there wrote it so: its client says what is wrong with it.
    const all = ['completed', 'completed'];
    assert.deepEqual(ofFinish('tool_calls'), {
      whole: all,
      items: all,
      last: all,
      inputs: 2,
      messages: ['tool_0', 'tool_1'],
    });
  });

  for (const [reason, ends] of [
    ['max_tokens', []],
    ['refusal', []],
    ['tool_use', [['time', {}]]],
  ] as const) {
    test(`and has no input, in messages that end with "${reason}": what others hear of it, streamed and whole`, () => {
      const calls = ['weather', 'time'].map((name) => ({ type: 'tool_use', id: `toolu_${name}`, name, input: {} }));
      const stream = [
        { type: 'message_start', message: { id: 'msg_1', model: 'm' } },
        ...calls.flatMap((call, index) => [
          { type: 'content_block_start', index, content_block: call },
          { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '' } },
          ...(index > 0
            ? []
            : [{ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } }]),
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: reason } },
        { type: 'message_stop' },
      ];
      const text = stream.map((one) => frameOf(one, one.type)).join('');
      const events = read(wires.messages.reader(), text).flatMap((one) => one.events);
      const wanted = [['weather', { a: 1 }], ...ends];
      for (const reply of [replyOf(events), ...protocols.map((one) => heardAs(one, events))])
        assert.deepEqual(callsOf(reply), wanted);
      const content = [{ ...calls[0], input: { a: 1 } }, calls[1]];
      assert.deepEqual(callsOf(wires.messages.readReply({ id: 'msg_1', content, stop_reason: reason })), wanted);
    });
  }

  for (const [status, ends] of [
    ['incomplete', []],
    ['completed', [['time', {}]]],
  ] as const) {
    test(`and has no input, in a response that is ${status}: what others hear of it, streamed and whole`, () => {
      const details = status === 'incomplete' ? { incomplete_details: { reason: 'max_output_tokens' } } : {};
      const output = ['weather', 'time'].map((name, at) => ({
        id: `fc_${at}`,
        type: 'function_call',
        call_id: `call_${at}`,
        name,
        ...(at === 0 ? { status: 'completed', arguments: '{"a":1}' } : { status, arguments: '' }),
      }));
      const response = { id: 'resp_1', model: 'm', status, ...details, output };
      const wanted = [['weather', { a: 1 }], ...ends];
      // Of the last item some say the end, and some nothing more.
      for (const told of [output, output.slice(0, 1)]) {
        const stream = [
          { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
          ...output.flatMap((item, at) => [
            { type: 'response.output_item.added', output_index: at, item: { ...item, arguments: '' } },
            ...(told.includes(item) ? [{ type: 'response.output_item.done', output_index: at, item }] : []),
          ]),
          { type: `response.${status}`, response },
        ];
        const text = stream.map((one) => frameOf(one, one.type)).join('');
        const events = read(wires.responses.reader(), text).flatMap((one) => one.events);
        for (const reply of [replyOf(events), ...protocols.map((one) => heardAs(one, events))])
          assert.deepEqual(callsOf(reply), wanted);
      }
      assert.deepEqual(callsOf(wires.responses.readReply(response)), wanted);
    });
  }
});

test('a reason that no protocol has is the usual one, whatever JavaScript makes of its name', () => {
  const choices = [{ message: { content: 'x' }, finish_reason: 'constructor' }];
  assert.equal(wires.chat.readReply({ choices }).finish, 'stop');
  assert.equal(wires.messages.readReply({ content: [], stop_reason: 'constructor' }).finish, 'stop');
});

test('an item of a response whose begin has no id goes by the first that is said of it', () => {
  const step = (type: string, rest: Value) => frameOf({ type: `response.${type}`, output_index: 0, ...rest });
  const item = { type: 'message', role: 'assistant', content: [] };
  const text = [
    step('output_item.added', { item }),
    ...['msg_1', 'msg_2'].map((id) => step('output_text.delta', { item_id: id, content_index: 0, delta: 'x' })),
    step('output_item.done', { item: { ...item, id: 'msg_3' } }),
  ].join('');
  const ids = read(wires.responses.reader(), text).map(({ raw }) => {
    const body = JSON.parse(raw.slice(raw.indexOf('{')));
    return body.item ? body.item.id : body.item_id;
  });
  assert.deepEqual(ids, [undefined, 'msg_1', 'msg_1', 'msg_1']);
});

/** Seconds of processor time that it takes. */
function secondsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

describe('an answer that is made to cost', () => {
  test('has 1,024 calls at most, in every protocol, streamed and whole', () => {
    const answersOf = (count: number) => {
      const all = Array.from({ length: count });
      const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
      const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
      const item = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
      const own = all.map((_, at) => ({ ...call, id: `a${at}` }));
      return {
        chat: [
          chatStream(
            own.map((one) => ({ tool_calls: [one] })),
            'stop',
          ),
          chatStream([{ tool_calls: own }], 'stop'),
          { choices: [{ message: { tool_calls: all.map(() => call) } }] },
        ],
        messages: [
          all.map((_, index) => frameOf({ type: 'content_block_start', index, content_block: use })).join(''),
          { content: all.map(() => use) },
        ],
        responses: [
          all.map((_, at) => frameOf({ type: 'response.output_item.added', output_index: at, item })).join(''),
          { output: all.map(() => item) },
        ],
      };
    };
    for (const [count, isRefused] of [
      [1_024, false],
      [1_025, true],
    ] as const) {
      for (const [protocol, answers] of Object.entries(answersOf(count)) as [Protocol, (string | Value)[]][]) {
        for (const answer of answers) {
          const refusal =
            typeof answer === 'string'
              ? read(wires[protocol].reader(), answer).some(({ events }) =>
                  events.some((event) => event.type === 'error' && event.message === tooManyCalls),
                )
              : hasTooManyCalls(protocol, answer);
          assert.equal(refusal, isRefused, `${protocol}, ${count} calls, ${typeof answer}`);
        }
      }
    }
  });

  test('takes no more time for ids that stand twice, blank pieces of input and thoughts that are signed late', () => {
    const many = 20_000;
    const ids = new CallIds('chatcmpl-7');
    assert.ok(secondsOf(() => Array.from({ length: many }, () => ids.unique('a'))) < 2);
    assert.equal(ids.unique('a'), `a_${many + 1}`);

    const thoughts = new UnsignedThoughts();
    for (let at = 0; at < 2 * many; at++) thoughts.push(at, `${at}.`);
    const signAll = () => {
      for (let at = 2 * many - 1; at >= 0; at--) assert.equal(thoughts.placeOf(`${at}.`), at);
    };
    assert.ok(secondsOf(signAll) < 2);

    const input = JSON.stringify({ text: 'x'.repeat(1024 * 1024) });
    const reader = wires.chat.reader();
    const said = { index: 0, function: { arguments: ' ' } };
    const first = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: input } };
    read(reader, chatStream([{ tool_calls: [first] }], ''));
    const blank = chatStream(
      Array.from({ length: 3_000 }, () => ({ tool_calls: [said] })),
      'stop',
    );
    assert.ok(secondsOf(() => read(reader, blank)) < 2);
  });
});

describe('thoughts that are signed at the end', () => {
  test('are found where they were told: whole, as the begin of several, and the rest of these', () => {
    const thoughts = new UnsignedThoughts();
    for (const [at, text] of ['One.', 'Two.Three.', 'Two.', 'One.'].entries()) thoughts.push(at, text);
    const places = ['One.', 'Two.', 'Two.', '', 'One.', 'Four.', 'Three.'].map((text) => thoughts.placeOf(text));
    const next = 1 / 4_096;
    assert.deepEqual(places, [0, 2, 1, 1 + next, 3, undefined, 1 + 2 * next]);
  });
});

describe('a thought that is signed at the end of its stream', () => {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
  const thoughts = ['One.', 'Two.'].map((thinking, at) => ({ type: 'thinking', thinking, signature: `sig${at}` }));
  const deltas = [
    { role: 'assistant', reasoning_content: 'One.' },
    { content: 'So.' },
    { reasoning_content: 'Two.' },
    { tool_calls: [call] },
    { thinking_blocks: thoughts },
  ];
  const events = read(wires.chat.reader(), chatStream(deltas, 'tool_calls')).flatMap((one) => one.events);

  for (const protocol of ['messages', 'responses'] as const) {
    test(`reaches clients of ${protocol} once, and comes back from them as from a whole answer`, () => {
      const streamed = heardAs(protocol, events);
      const told = streamed.blocks.map((block) => (block.type === 'thinking' ? block.text : '')).join('');
      assert.equal(told, 'One.Two.');
      const [own, whole] = [streamed, replyOf(events)].map((reply) => {
        const { messages } = wires[protocol].readRequest(nextOf(protocol, reply));
        return messages.flatMap(({ blocks }) => blocks);
      });
      assert.deepEqual(own, whole);
      assert.deepEqual(
        own?.flatMap((block) => (block.type === 'thinking' ? [[block.text, block.signature]] : [])),
        [
          ['One.', 'sig0'],
          ['Two.', 'sig1'],
        ],
      );
      const list = protocol === 'messages' ? 'messages' : 'input';
      const cleaned = { ...nextOf(protocol, streamed), ...withoutSealed(list, nextOf(protocol, streamed)) };
      assert.deepEqual(
        wires[protocol].readRequest(cleaned).messages.flatMap(({ blocks }) => blocks),
        whole,
      );
    });
  }
});

describe('blocks of other protocols that all have one number', () => {
  test('are told apart in a stream of messages', () => {
    const frames = [
      { type: 'message_start', message: { id: 'msg_1', model: 'm' } },
      ...['a', 'b'].flatMap((id) => [
        { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id, name: 'f', input: {} } },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: `{"of":"${id}"}` } },
        { type: 'content_block_stop', index: 0 },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ];
    const text = frames.map((one) => frameOf(one, one.type)).join('');
    const events = read(wires.messages.reader(), text).flatMap((one) => one.events);
    for (const one of protocols) {
      assert.deepEqual(callsOf(heardAs(one, events)), [
        ['f', { of: 'a' }],
        ['f', { of: 'b' }],
      ]);
    }
  });

  /** LiteLLM: one `output_index` for several items, ids that differ from event to event (pull/36375, 2026-08-09). */
  for (const [how, numbered] of [
    ['by their ids', (at: number) => ({ item_id: `fc_${at}`, output_index: 0 })],
    [
      'by their places, where ids change from event to event',
      (at: number, n: number) => ({ item_id: `x${n}`, output_index: at }),
    ],
  ] as const) {
    test(`are told apart in a stream of responses ${how}`, () => {
      let n = 0;
      const item = (at: number) => ({ type: 'function_call', call_id: `call_${at}`, name: 'f', arguments: '' });
      const steps = [0, 1].flatMap((at): Value[] => {
        const first = numbered(at, n++);
        return [
          { type: 'response.output_item.added', ...first, item: { ...item(at), id: first.item_id } },
          ...['{"of":', `${at}}`].map((delta) => ({
            type: 'response.function_call_arguments.delta',
            ...numbered(at, n++),
            delta,
          })),
        ];
      });
      const only = { ...item(2), id: 'fc_2', arguments: '{"of":2}' };
      const frames: Value[] = [
        { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
        ...steps,
        { type: 'response.output_item.done', output_index: 2, item: only },
        { type: 'response.completed', response: { status: 'completed' } },
      ];
      const events = read(wires.responses.reader(), frames.map((one) => frameOf(one)).join('')).flatMap(
        (one) => one.events,
      );
      for (const one of protocols)
        assert.deepEqual(
          callsOf(heardAs(one, events)),
          [0, 1, 2].map((at) => ['f', { of: at }]),
        );
    });
  }
});

/** The next request of a client of messages or responses: what it was answered, and results of the calls. */
function nextOf(protocol: 'messages' | 'responses', reply: Reply): Value {
  const answer = wires[protocol].writeReply(reply, 1);
  if (protocol === 'messages') {
    const content = idsOf(reply).map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'warm' }));
    const turns = [
      { role: 'assistant', content: answer['content'] },
      { role: 'user', content },
    ];
    return { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'What weather?' }, ...turns] };
  }
  const results = idsOf(reply).map((id) => ({ type: 'function_call_output', call_id: id, output: 'warm' }));
  return {
    model: 'm',
    input: [{ role: 'user', content: 'What weather?' }, ...objectsOf(answer['output']), ...results],
  };
}

/** The model's turn in a request to a lane. */
const turnIn = (request: Value): Value | undefined =>
  objectsOf(request['messages']).find(({ role }) => role === 'assistant');

describe('what a model wants back with its turn', () => {
  for (const { maker, model, deltas, message } of signedTurns) {
    const events = read(wires.chat.reader(), chatStream(deltas, 'stop', model)).flatMap((one) => one.events);
    const choices = [
      { index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'tool_calls' },
    ];
    const whole = wires.chat.readReply({ id: 'chatcmpl-7', model, choices });
    for (const protocol of ['messages', 'responses'] as const) {
      const answers = { streamed: heardAs(protocol, events), whole };
      for (const [how, reply] of Object.entries(answers)) {
        test(`comes back to it from clients of ${protocol}, and goes to nobody else (${how}): ${maker}`, () => {
          const conversation = wires[protocol].readRequest(nextOf(protocol, reply));
          const turn = turnIn(wires.chat.writeRequest(conversation, model, { dialect: dialectOf('chat', model) }));
          // What is shown of the thought is in the details too.
          const { reasoning: _, ...wanted } = message;
          const same = { role: undefined, content: undefined };
          assert.deepEqual({ ...turn, ...same }, { ...wanted, ...same });
          const elsewhere = [
            wires.chat.writeRequest(conversation, 'gpt-5.1'),
            wires.messages.writeRequest(conversation, 'claude-opus-5'),
            wires.responses.writeRequest(conversation, 'gpt-5.1'),
          ];
          assert.doesNotMatch(JSON.stringify(elsewhere), /svc1\.|AY89|c2ln|ENC|extra_content|reasoning/);
          assert.equal(elsewhere.filter((one) => JSON.stringify(one).includes('call_1')).length, 3);
        });
      }
    }

    test(`is in the answer of chat completions too, where the server's own loop writes it: ${maker}`, () => {
      const writer = wires.chat.writer({ created: 1, tellsUsage: false });
      const text = events.flatMap((event) => writer.push(event)).join('');
      for (const written of [text, JSON.stringify(wires.chat.writeReply(whole, 1))]) {
        assert.doesNotMatch(written, /svc1\./);
        for (const [secret] of JSON.stringify(message).matchAll(/AY89[^"]*|c2ln|ENC/g))
          assert.ok(written.includes(secret));
      }
    });
  }

  const [turn = assert.fail()] = signedTurns;
  const unsigned = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }],
  };
  const signatureOf = (request: Value): unknown =>
    (objectsOf(turnIn(request)?.['tool_calls'])[0]?.['extra_content'] as { google: { thought_signature: string } })
      ?.google.thought_signature;

  test('has its maker’s documented placeholder where a history has none', () => {
    const conversation = wires.chat.readRequest({ messages: [{ role: 'user', content: 'x' }, unsigned] });
    assert.equal(
      signatureOf(wires.chat.writeRequest(conversation, 'gemini-3-pro')),
      'skip_thought_signature_validator',
    );
    for (const model of ['gemini-2.5-pro', 'gpt-5.1', 'qwen3'])
      assert.equal(signatureOf(wires.chat.writeRequest(conversation, model)), undefined, model);
    const signed = { role: 'assistant', tool_calls: turn.message['tool_calls'] };
    assert.deepEqual(missingSignatures([signed]), {});
    assert.equal(missingSignatures([signed, unsigned]).messages?.length, 2);
  });

  test('is bounded: a signature of 1 MiB is carried, more of one answer is not', () => {
    for (const [length, isCarried] of [
      [1024 * 1024 - 200, true],
      [1024 * 1024 + 2_000, false],
    ] as const) {
      const extra = { google: { thought_signature: 's'.repeat(length) } };
      const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, extra_content: extra };
      const deltas = Array.from({ length: 3 }, (_, at) => ({ tool_calls: [{ ...call, index: at, id: `a${at}` }] }));
      const events = read(wires.chat.reader(), chatStream(deltas, 'stop', turn.model)).flatMap((one) => one.events);
      const conversation = wires.messages.readRequest(nextOf('messages', heardAs('messages', events)));
      const sent = wires.chat.writeRequest(conversation, turn.model);
      assert.equal(signatureOf(sent) === extra.google.thought_signature, isCarried);
      assert.ok(JSON.stringify(sent).length < 1.5 * 1024 * 1024);
      assert.equal(signatureOf(sent) !== undefined, true, 'the placeholder, where it is lost');
    }
  });

  test('is taken out of a request that goes to a lane of its client’s own protocol', () => {
    const events = read(wires.chat.reader(), chatStream(turn.deltas, 'stop', turn.model)).flatMap((one) => one.events);
    for (const [protocol, name] of [
      ['messages', 'messages'],
      ['responses', 'input'],
    ] as const) {
      const request = nextOf(protocol, heardAs(protocol, events));
      assert.match(JSON.stringify(request), /svc1\./);
      const cleaned = withoutSealed(name, request);
      assert.doesNotMatch(JSON.stringify({ ...request, ...cleaned }), /svc1\./);
      assert.deepEqual(withoutSealed(name, { ...request, ...cleaned }), {});
    }
  });
});

describe('several signed thoughts of one streamed answer', () => {
  const blocks: Reply['blocks'] = [
    { type: 'thinking', text: 'One.', signature: 's1' },
    { type: 'redacted', data: 'hidden' },
    { type: 'thinking', text: 'Two.', signature: 's2' },
    { type: 'text', text: 'So.' },
    { type: 'thinking', text: 'Two.', signature: 's3' },
    { type: 'call', id: 'call_1', name: 'weather', input: '{}' },
  ];
  const opening = (block: Reply['blocks'][number]) =>
    block.type === 'call' ? { type: 'call', id: block.id, name: block.name } : { ...block };
  const events = [
    { type: 'start', id: 'a', model: 'm' },
    ...blocks.flatMap((block, index) => [
      { type: 'open', index, block: opening(block) },
      ...('text' in block ? [{ type: 'delta', index, text: block.text }] : []),
      ...('signature' in block ? [{ type: 'signature', index, signature: block.signature }] : []),
      { type: 'close', index },
    ]),
    { type: 'finish', finish: 'calls' },
    { type: 'end' },
  ] as Event[];
  const writer = wires.chat.writer({ created: 1, tellsUsage: false });
  const text = events.flatMap((event) => writer.push(event)).join('');
  const wanted = [
    { type: 'thinking', thinking: 'One.', signature: 's1' },
    { type: 'redacted_thinking', data: 'hidden' },
    { type: 'thinking', thinking: 'Two.', signature: 's2' },
    { type: 'thinking', thinking: 'Two.', signature: 's3' },
  ];

  test('reach a client of chat completions once and together, whether it keeps the last of a field or adds up', () => {
    const lists = new SseReader().push(Buffer.from(text)).flatMap(({ data = '' }) => {
      const list = data === '[DONE]' ? undefined : JSON.parse(data).choices[0].delta.thinking_blocks;
      return list === undefined ? [] : [list];
    });
    assert.deepEqual(lists, [wanted]);
    const message = { role: 'assistant', content: 'So.', reasoning_content: 'One.Two.Two.', thinking_blocks: lists[0] };
    const back = wires.messages.writeRequest(wires.chat.readRequest({ messages: [message] }), 'claude-opus-5');
    assert.deepEqual(objectsOf(turnIn(back)?.['content']).slice(0, 4), [
      ...wanted.slice(0, 1),
      { type: 'redacted_thinking', data: 'hidden' },
      ...wanted.slice(2),
    ]);
  });

  test('are those of the answer where a server of ours reads it', () => {
    const reply = replyOf(read(wires.chat.reader(), text).flatMap((one) => one.events));
    assert.deepEqual(
      reply.blocks.flatMap((block) => (block.type === 'thinking' ? [[block.text, block.signature]] : [])),
      [
        ['One.', 's1'],
        ['Two.', 's2'],
        ['Two.', 's3'],
      ],
    );
  });
});

describe('what a maker sends as its protocol has it', () => {
  const sameIn = (protocol: Protocol, text: string): void => {
    const frames = new SseReader().push(Buffer.from(text)).map(({ raw }) => raw.toString());
    const told = read(wires[protocol].reader(), text).map(({ raw }) => raw);
    assert.deepEqual(told, frames);
  };

  test('calls of tools without a schema reach clients of chat', () => {
    const call = (custom: Value, first: Value = {}) => ({ tool_calls: [{ index: 0, ...first, custom }] });
    const begin = call({ name: 'shell', input: '' }, { id: 'call_x', type: 'custom' });
    sameIn(
      'chat',
      chatStream([{ role: 'assistant' }, begin, call({ input: 'ls' }), call({ input: ' -l' })], 'tool_calls'),
    );
  });

  test('thoughts that say one thing twice are signed as they were thought', () => {
    const thoughts = ['\n', '\n', 'so', ''].map((thinking, at) => ({
      thinking_blocks: [{ type: 'thinking', thinking, ...(at === 3 && { signature: 'c2ln' }) }],
    }));
    const text = chatStream([{ role: 'assistant' }, ...thoughts, { content: 'done' }], 'stop');
    const events = read(wires.chat.reader(), text).flatMap((one) => one.events);
    const [block] = replyOf(events).blocks;
    assert.deepEqual(block, { type: 'thinking', text: '\n\nso', signature: 'c2ln' });
  });

  test('a stop that is said twice stops nothing else', () => {
    const frame = (type: string, rest: Value) => frameOf({ type, ...rest }, type);
    const start = (index: number) => frame('content_block_start', { index, content_block: { type: 'text', text: '' } });
    const stop = (index: number) => frame('content_block_stop', { index });
    sameIn('messages', [start(0), stop(0), start(1), stop(0), stop(1)].join(''));
  });

  test('an answer that names its items anew, or not all of them, has each by its own id', () => {
    const frame = (type: string, rest: Value) => frameOf({ type, ...rest }, type);
    const thought = { id: 'rs_1', type: 'reasoning', summary: [] };
    const said = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [] };
    const items = [thought, said].flatMap((item, at) => [
      frame('response.output_item.added', { output_index: at, item }),
      frame('response.output_item.done', { output_index: at, item }),
    ]);
    const response = { id: 'resp_1', status: 'completed', output: [said] };
    sameIn('responses', [...items, frame('response.completed', { response })].join(''));
  });
});
