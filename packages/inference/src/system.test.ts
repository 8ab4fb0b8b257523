import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dialectOf } from './dialect.ts';
import { instructed } from './fixtures/instructions.ts';
import type { Conversation } from './model.ts';
import { type Protocol, protocols } from './protocol.ts';
import { withoutInstructions } from './system.ts';
import { systemName, translate } from './translate.ts';
import { objectsOf, textOf, type Value } from './values.ts';
import { wires } from './wires.ts';

const sentTo = (from: Protocol, body: Value, protocol: Protocol, model: string) => {
  const { body: sent, dropped } = translate(from, body, {
    protocol,
    model,
    dialect: dialectOf(protocol, model),
    maxTokens: undefined,
  });
  return { sent, dropped };
};

/** Turns in short: who, and the first word of each of their parts. */
const shortOf = ({ messages }: Pick<Conversation, 'messages'>) =>
  messages.map(({ role, blocks }) =>
    [role, ...blocks.map((block) => (block.type === 'text' ? block.text.split(' ')[0] : block.type))].join(' '),
  );
const placed = [
  'user What',
  'system Use',
  'assistant call',
  'user result',
  'system The',
  'assistant Warm.',
  'user Thanks.',
  'system Say',
];
const lanes = [
  ['chat', 'gpt-5.1'],
  ['responses', 'gpt-5.1'],
  ['messages', 'claude-opus-4-8'],
  ['messages', 'claude-sonnet-5'],
] as const;

describe('instructions among the turns', () => {
  for (const { client, protocol: from, body } of instructed) {
    for (const [protocol, model] of lanes) {
      test(`stay where they were, behind results that belong to calls: ${client} to ${protocol} (${model})`, () => {
        const { sent, dropped } = sentTo(from, body, protocol, model);
        const read = wires[protocol].readRequest(sent);
        assert.deepEqual([read.system, shortOf(read), dropped], ['Be brief.', placed, []]);
      });
    }

    test(`join the prompt of a model that takes none, and the client is told: ${client}`, () => {
      for (const model of ['claude-sonnet-4-5', 'qwen3-max']) {
        const { sent, dropped } = sentTo(from, body, 'messages', model);
        assert.deepEqual(dropped, [systemName(from)]);
        assert.equal(sent['system'], 'Be brief.\n\nUse metric units.\n\nThe user is in Iași.\n\nSay goodbye.');
        assert.deepEqual(
          shortOf(wires.messages.readRequest(sent)),
          placed.filter((turn) => !turn.startsWith('system')),
        );
      }
      if (from === 'chat') return;
      // Templates of open models refuse a system message that is not the first.
      for (const model of ['qwen3:8b', 'google/gemma-4', 'mistral-small', 'llama3.3']) {
        const { sent, dropped } = sentTo(from, body, 'chat', model);
        const roles = objectsOf(sent['messages']).map(({ role }) => role);
        assert.deepEqual([roles.lastIndexOf('system'), dropped], [0, [systemName(from)]], model);
      }
    });
  }

  test('go behind the turn of the user that follows where a model of messages takes them there alone', () => {
    const says = (role: string, content: string) => ({ role, content });
    const turns = [says('user', 'a'), says('system', 'S'), says('user', 'b'), says('assistant', 'c')];
    const { sent } = sentTo(
      'chat',
      { messages: [...turns, says('system', 'T'), says('user', 'd')] },
      'messages',
      'claude-opus-5',
    );
    const got = objectsOf(sent['messages']).map(({ role, content }) => [
      role,
      objectsOf(content)
        .map(({ text }) => textOf(text))
        .join(''),
    ]);
    assert.deepEqual(got, [
      ['user', 'ab'],
      ['system', 'S'],
      ['assistant', 'c'],
      ['user', 'd'],
      ['system', 'T'],
    ]);
    const after = sentTo(
      'chat',
      { messages: [says('user', 'a'), says('assistant', 'c'), says('system', 'T')] },
      'messages',
      'claude-opus-5',
    );
    assert.deepEqual([after.sent['system'], after.dropped], ['T', ['messages.system']], 'with no turn to go behind');
  });

  test('alone are the prompt', () => {
    for (const protocol of protocols) {
      const messages = [{ role: 'system', content: 'S' }];
      const { system, messages: turns } = wires[protocol].readRequest({ messages, input: messages });
      assert.deepEqual([system, turns], ['S', []]);
    }
  });

  test('leave a request of messages for an older model of its own protocol, whose other parts stay', () => {
    const [{ body } = assert.fail()] = instructed;
    const { system, messages } = withoutInstructions(body);
    assert.deepEqual(
      objectsOf(system).map(({ text, cache_control: cached }) => [text, cached !== undefined]),
      [
        ['Be brief.', true],
        ['Use metric units.', true],
        ['The user is in Iași.', false],
        ['Say goodbye.', false],
      ],
    );
    assert.deepEqual(
      messages,
      objectsOf(body['messages']).filter(({ role }) => role !== 'system'),
    );
    assert.deepEqual(withoutInstructions({ ...body, messages }), {});
  });
});
