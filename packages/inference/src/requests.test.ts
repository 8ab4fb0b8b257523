import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requests } from './fixtures/requests.ts';
import type { Block, Conversation } from './model.ts';
import { protocols } from './protocol.ts';
import { renamedCalls } from './renamed.ts';
import { objectsOf, type Value } from './values.ts';
import { wires } from './wires.ts';

/** Blocks in order, in words that every protocol has. What failed is not among them: messages alone says so. */
const saidIn = (blocks: readonly Block[]): unknown[] =>
  blocks.map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'image') return ['image', block.source];
    if (block.type === 'document') return ['document', block.source, block.name];
    if (block.type === 'call') return ['call', block.id, block.name, JSON.parse(block.input)];
    if (block.type === 'result') return ['result', block.id, saidIn(block.content)];
    return block;
  });

const factsOf = (conversation: Conversation) => ({
  system: conversation.system,
  said: conversation.messages.map(({ role, blocks }) => [role, saidIn(blocks)]),
  tools: conversation.tools.map(({ name, description }) => [name, description]),
  choice: conversation.choice,
  parallel: conversation.parallel,
  maxTokens: conversation.maxTokens,
  temperature: conversation.temperature,
  user: conversation.user,
  schema: conversation.format?.type === 'schema' ? conversation.format.schema : conversation.format,
});

describe('a whole request', () => {
  const [first] = requests;
  const facts = factsOf(wires.chat.readRequest(first?.body ?? {}));

  test('is the same conversation in every protocol', () => {
    assert.equal(facts.said.length, 3);
    for (const { protocol, body } of requests)
      assert.deepEqual(factsOf(wires[protocol].readRequest(body)), facts, protocol);
  });

  for (const { protocol, body } of requests) {
    for (const other of protocols) {
      test(`of ${protocol} is said to a lane of ${other} without a loss`, () => {
        const conversation = wires[protocol].readRequest(body);
        const sent = wires[other].writeRequest(conversation, 'small-1');
        assert.equal(sent['model'], 'small-1');
        assert.deepEqual(factsOf(wires[other].readRequest(sent)), facts);
        // Responses have no stop sequences.
        const stops = other === 'responses' || protocol === 'responses' ? undefined : ['END'];
        assert.deepEqual(wires[other].readRequest(sent).stop, stops);
      });
    }
  }

  for (const protocol of protocols) {
    test(`names calls of another maker to a lane of ${protocol} as its makers take them, each with its result`, () => {
      const ids = ['functions.weather:0', 'x'.repeat(45), 'y'.repeat(70), 'toolu_01'];
      const conversation: Conversation = {
        ...wires.chat.readRequest(first?.body ?? {}),
        messages: [
          { role: 'user', blocks: [{ type: 'text', text: 'all at once' }] },
          { role: 'assistant', blocks: ids.map((id): Block => ({ type: 'call', id, name: 'weather', input: '{}' })) },
          {
            role: 'user',
            blocks: ids.map((id): Block => ({ type: 'result', id, content: [{ type: 'text', text: id }] })),
          },
        ],
      };
      const { messages } = wires[protocol].readRequest(wires[protocol].writeRequest(conversation, 'small-1'));
      const blocks = messages.flatMap((message) => message.blocks);
      const calls = blocks.flatMap((block) => (block.type === 'call' ? [block.id] : []));
      const results = blocks.flatMap((block) => (block.type === 'result' ? [block.id] : []));
      assert.deepEqual([calls, new Set(calls).size], [results, ids.length]);
      assert.equal(calls.at(-1), 'toolu_01');
      assert.equal(calls[0] === ids[0], protocol !== 'messages');
      const most = protocol === 'chat' ? 40 : 64;
      assert.ok(calls.every((id) => id.length <= most));
    });
  }

  for (const protocol of protocols) {
    const names: Readonly<Record<string, string>> = {
      one: 'functions.weather:0',
      two: 'x'.repeat(70),
      three: 'call_3',
    };
    const turns: Conversation['messages'] = [
      { role: 'user', blocks: [{ type: 'text', text: 'all at once' }] },
      ...Object.keys(names).flatMap((id): Conversation['messages'] => [
        { role: 'assistant', blocks: [{ type: 'call', id, name: 'weather', input: '{}' }] },
        { role: 'user', blocks: [{ type: 'result', id, content: [{ type: 'text', text: 'warm' }] }] },
      ]),
    ];
    const written = JSON.stringify(
      wires[protocol].writeRequest({ ...wires.chat.readRequest(first?.body ?? {}), messages: turns }, 'small-1'),
    );
    const body = JSON.parse(written.replaceAll(/"(one|two|three)"/g, (_, id: string) => `"${names[id]}"`)) as Value;
    const list = protocol === 'responses' ? 'input' : 'messages';

    test(`of ${protocol} to a lane of its own protocol names calls of another maker as that takes them`, () => {
      const renamed = renamedCalls(protocol, body);
      assert.deepEqual(Object.keys(renamed), [list]);
      const ids = wires[protocol]
        .readRequest({ ...body, ...renamed })
        .messages.flatMap(({ blocks }) =>
          blocks.flatMap((block) => (block.type === 'call' || block.type === 'result' ? [block.id] : [])),
        );
      const calls = ids.filter((_, at) => at % 2 === 0);
      assert.deepEqual([calls, new Set(calls).size], [ids.filter((_, at) => at % 2 === 1), 3]);
      assert.equal(calls[2], 'call_3');
      assert.equal(calls[0] === names['one'], protocol !== 'messages');
      assert.ok(calls.every((id) => id.length <= (protocol === 'chat' ? 40 : 64)));
      const again = { ...body, ...renamed };
      assert.deepEqual(renamedCalls(protocol, again), {}, 'as it is, where each is taken');
      // Of a call that only the provider has, the name is the provider's.
      const entries = objectsOf(body[list]).filter(
        (one) => !/"(?:tool_calls|tool_use|function_call)"/.test(JSON.stringify(one)),
      );
      assert.deepEqual(renamedCalls(protocol, { ...body, [list]: entries }), {});
    });
  }

  test('of messages says of a result that it failed; the others have no word for it', () => {
    const conversation = wires.messages.readRequest(requests[1]?.body ?? {});
    const failed = (one: Conversation) =>
      one.messages.flatMap(({ blocks }) =>
        blocks.flatMap((block) => (block.type === 'result' ? [block.isError === true] : [])),
      );
    assert.deepEqual(failed(conversation), [false, true]);
    assert.deepEqual(failed(wires.messages.readRequest(wires.messages.writeRequest(conversation, 'm'))), [false, true]);
  });
});
