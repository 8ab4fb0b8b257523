import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, Citation, Event, Reply } from './model.ts';
import { type Value, objectOf, objectsOf } from './values.ts';
import { wires } from './wires.ts';

const cited = (url: string, place: Partial<Citation> = {}): Citation => ({ url, title: url, ...place });
const texts: { text: string; citations: Citation[] }[] = [
  { text: 'One says so. ', citations: [cited('https://one/', { start: 4, end: 8 })] },
  { text: 'And another.', citations: [cited('https://two/')] },
];
/** The words of the one text that chat completions answer, to which each citation points. */
const shown = (text: string, annotations: Value[]): [string, string][] =>
  annotations.map(({ url_citation: given }) => {
    const { url, start_index, end_index } = objectOf(given);
    return [String(url), text.slice(Number(start_index), Number(end_index))];
  });
const wanted = [
  ['https://one/', 'says'],
  ['https://two/', 'And another.'],
];

test('texts that chat completions join keep their citations at their words, whole and streamed', () => {
  const blocks: Block[] = texts.map(({ text, citations }) => ({ type: 'text', text, citations }));
  const reply: Reply = { id: 'r', model: 'm', blocks, finish: 'stop' };
  const [choice = {}] = objectsOf(wires.chat.writeReply(reply, 1)['choices']);
  const { content, annotations } = objectOf(choice['message']);
  assert.deepEqual(shown(String(content), objectsOf(annotations)), wanted);

  const events: Event[] = [
    { type: 'start', id: 'r', model: 'm' },
    ...texts.flatMap(({ text, citations }, index): Event[] => [
      { type: 'open', index, block: { type: 'text' } },
      { type: 'delta', index, text: text.slice(0, 5) },
      { type: 'delta', index, text: text.slice(5) },
      ...citations.map((citation) => ({ type: 'citation' as const, index, citation })),
      { type: 'close', index },
    ]),
    { type: 'finish', finish: 'stop' },
    { type: 'end' },
  ];
  const writer = wires.chat.writer({ created: 1, tellsUsage: false });
  const deltas = events
    .flatMap((event) => writer.push(event))
    .filter((frame) => !frame.includes('[DONE]'))
    .flatMap((frame) => objectsOf((JSON.parse(frame.slice(frame.indexOf('{'))) as Value)['choices']))
    .map(({ delta }) => objectOf(delta));
  const text = deltas.map(({ content: part }) => (typeof part === 'string' ? part : '')).join('');
  assert.deepEqual(
    shown(
      text,
      deltas.flatMap((delta) => objectsOf(delta['annotations'])),
    ),
    wanted,
  );
});

test('what messages call adaptive thinking, and its efforts, are efforts of the other protocols', () => {
  const effortOf = (fields: Value): unknown => {
    const request = { model: 'm', max_tokens: 9_000, messages: [{ role: 'user', content: 'x' }], ...fields };
    const conversation = wires.messages.readRequest(request);
    const { reasoning } = wires.responses.writeRequest(conversation, 'm');
    assert.equal(wires.chat.writeRequest(conversation, 'm')['reasoning_effort'], objectOf(reasoning)['effort']);
    return objectOf(reasoning)['effort'];
  };
  assert.equal(effortOf({ thinking: { type: 'adaptive' } }), 'high');
  assert.equal(effortOf({ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }), 'low');
  assert.equal(effortOf({ output_config: { effort: 'max' } }), 'xhigh');
  assert.equal(effortOf({ thinking: { type: 'disabled' } }), undefined);
});
