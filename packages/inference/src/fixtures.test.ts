import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Answered, answers } from './fixtures/answers.ts';
import type { Block, Event, Message, Reply } from './model.ts';
import { type Protocol, protocols } from './protocol.ts';
import { ReplyReader } from './reply.ts';
import { frameOf, SseReader } from './sse.ts';
import { wires } from './wires.ts';

/** Bytes of a fixture's stream. */
const bytesOf = ({ protocol, stream }: Answered): Buffer => {
  const frames = stream.map((event) => frameOf(event, typeof event['type'] === 'string' ? event['type'] : undefined));
  return Buffer.from(frames.join('') + (protocol === 'chat' ? 'data: [DONE]\n\n' : ''));
};

/** Reads a stream that comes in pieces of these sizes, again and again. */
function eventsOf(protocol: Protocol, bytes: Buffer, sizes: readonly number[] = [bytes.length]): Event[] {
  const sse = new SseReader();
  const reader = wires[protocol].reader();
  const events: Event[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    for (const frame of sse.push(bytes.subarray(at, at + size))) events.push(...reader.push(frame));
    at += size;
  }
  return events;
}

function replyOf(events: readonly Event[]): Reply {
  const reading = new ReplyReader();
  for (const event of events) reading.push(event);
  return reading.reply;
}

/** A stream that another protocol writes of these events. */
function rewritten(protocol: Protocol, events: readonly Event[]): Reply {
  const writer = wires[protocol].writer({ created: 1, tellsUsage: true });
  const bytes = Buffer.from(events.flatMap((event) => writer.push(event)).join(''));
  return replyOf(eventsOf(protocol, bytes));
}

const usageOf = ({ usage }: Reply) => usage && { input: usage.input, output: usage.output, cached: usage.cached };
/** Parts that every protocol can express: text, refusals as text, calls, addresses that text refers to. Documents have none. */
const said = (blocks: readonly Block[]) => ({
  text: blocks.map((block) => (block.type === 'text' || block.type === 'refusal' ? block.text : '')).join(''),
  calls: blocks.filter(({ type }) => type === 'call'),
  cited: blocks
    .flatMap((block) => (block.type === 'text' ? (block.citations ?? []) : []))
    .flatMap(({ url }) => url ?? []),
});
/** Thinking as it goes back to the model: what is signed. */
const signed = (blocks: readonly Block[]) =>
  blocks.flatMap((block) => (block.type === 'thinking' ? [[block.text, block.signature]] : []));

for (const fixture of answers) {
  const { protocol, whole } = fixture;
  const wire = wires[protocol];
  describe(`${protocol}: ${fixture.name}`, () => {
    test('what is read and written in the protocol is what it was', () => {
      const reply = wire.readReply(whole);
      const again = wire.writeReply(reply, 1);
      assert.deepEqual(wire.readReply(again), reply);
      if (protocol !== 'responses') assert.deepEqual(again[wire.list], whole[wire.list]);
    });

    test('its stream is the whole answer, whatever way its bytes are cut', () => {
      const reply = wire.readReply(whole);
      const bytes = bytesOf(fixture);
      const isWhole = (sizes: readonly number[]): void => {
        const events = eventsOf(protocol, bytes, sizes);
        assert.equal(events.at(-1)?.type, 'end');
        assert.deepEqual(replyOf(events), reply);
      };
      isWhole([bytes.length]);
      isWhole([1]);
      fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 30 }), isWhole));
    });

    for (const other of protocols) {
      test(`${other} has what it says and back, whole and streamed`, () => {
        const reply = wire.readReply(whole);
        const back = wires[other].readReply(wires[other].writeReply(reply, 1));
        const streamed = rewritten(other, eventsOf(protocol, bytesOf(fixture)));
        for (const one of [back, streamed]) {
          assert.deepEqual(said(one.blocks), said(reply.blocks));
          assert.deepEqual(
            signed(one.blocks).filter(([, signature]) => signature !== 'hidden'),
            signed(reply.blocks),
          );
          assert.equal(one.finish, reply.finish);
          assert.deepEqual(usageOf(one), usageOf(reply));
        }
      });
    }
  });
}

test('a request asks messages for no thinking when the turn that it goes on with has none that is signed', () => {
  const call: Block = { type: 'call', id: 'call_a', name: 'time', input: '{}' };
  const results: Block[] = [{ type: 'result', id: 'call_a', content: [{ type: 'text', text: 'noon' }] }];
  const thinks = (...thoughts: Block[]) => {
    const messages: Message[] = [
      { role: 'user', blocks: [{ type: 'text', text: 'When?' }] },
      { role: 'assistant', blocks: [...thoughts, call] },
      { role: 'user', blocks: results },
    ];
    const conversation = { system: '', messages, tools: [], stream: false, effort: 'low', temperature: 0.5 } as const;
    return wires.messages.writeRequest({ ...conversation, tools: [] }, 'm', { maxTokens: 4_096 });
  };
  assert.deepEqual(thinks({ type: 'thinking', text: 'Hm.', signature: 's' })['thinking'], {
    type: 'enabled',
    budget_tokens: 1_024,
  });
  const without = thinks({ type: 'thinking', text: 'Hm.' });
  assert.deepEqual([without['thinking'], without['temperature']], [undefined, 0.5]);
});
