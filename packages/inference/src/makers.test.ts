import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { streamedCalls } from './fixtures/makers.ts';
import type { Event, Reply } from './model.ts';
import { type Protocol, protocols } from './protocol.ts';
import { ReplyReader } from './reply.ts';
import { frameOf, SseReader } from './sse.ts';
import type { Value } from './values.ts';
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
function chatStream(deltas: readonly Value[], finish: string): string {
  const chunk = (delta: Value, reason: string | null = null) =>
    frameOf({ id: 'chatcmpl-7', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] });
  return [...deltas.map((delta) => chunk(delta)), chunk({}, finish), frameOf('[DONE]')].join('');
}

/** Calls as a client collects them that goes by their index alone, as OpenAI's own do. */
function collected(text: string): unknown[] {
  const calls: { id: string; name: string; input: string }[] = [];
  for (const { data = '' } of new SseReader().push(Buffer.from(text))) {
    if (data === '[DONE]') continue;
    for (const call of JSON.parse(data).choices[0].delta.tool_calls ?? []) {
      const known = (calls[call.index] ??= { id: '', name: '', input: '' });
      if (call.id) known.id = call.id;
      known.name += call.function?.name ?? '';
      known.input += typeof call.function?.arguments === 'string' ? call.function.arguments : '';
    }
  }
  assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length);
  return calls.map(({ name, input }) => [name, JSON.parse(input)]);
}

describe('calls that a maker streams in its own way', () => {
  for (const { maker, chunks, calls } of streamedCalls) {
    const text = chatStream(
      chunks.map((one) => ({ tool_calls: one })),
      'stop',
    );
    test(`are those that the model meant, one by one, in every protocol: ${maker}`, () => {
      const frames = read(wires.chat.reader(), text);
      const events = frames.flatMap((one) => one.events);
      for (const reply of [replyOf(events), ...protocols.map((one) => heardAs(one, events))]) {
        assert.deepEqual(callsOf(reply), calls);
        assert.equal(new Set(idsOf(reply)).size, calls.length, 'each has an id of its own');
        assert.equal(reply.finish, 'calls');
      }
      // Input that is an object stays one.
      if (!maker.startsWith('Ollama')) assert.deepEqual(collected(frames.map(({ raw }) => raw).join('')), calls);
    });
  }

  test('stay byte for byte what they were where they are numbered as OpenAI numbers them', () => {
    const { chunks } = streamedCalls.find(({ maker }) => maker.startsWith('OpenAI')) ?? assert.fail();
    const text = chatStream(
      chunks.map((one) => ({ tool_calls: one })),
      'tool_calls',
    );
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
