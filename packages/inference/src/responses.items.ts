import { CallIds, idAs } from './ids.ts';
import {
  type Block,
  type Citation,
  type Finish,
  isCut,
  isWholeInput,
  noUsage,
  type Reply,
  type Usage,
} from './model.ts';
import { readReasoning } from './responses.request.ts';
import { countOf, defined, isObject, numberOf, objectOf, objectsOf, textOf, type Value } from './values.ts';

/** A search of the provider; opening a page, or looking in one, has no price. */
const isSearch = ({ type, action }: Value): boolean =>
  type === 'web_search_call' && (textOf(objectOf(action)['type']) ?? 'search') === 'search';

/** Usage as a response tells it; undefined for none. */
export function readResponsesUsage({ usage, output }: Value): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const searches = objectsOf(output).filter(isSearch).length;
  return {
    ...noUsage,
    input: countOf(usage['input_tokens']),
    output: countOf(usage['output_tokens']),
    cached: countOf(objectOf(usage['input_tokens_details'])['cached_tokens']),
    reasoning: countOf(objectOf(usage['output_tokens_details'])['reasoning_tokens']),
    ...(searches > 0 && { searches }),
  };
}

const writeUsage = (usage: Usage): Value => ({
  input_tokens: usage.input,
  input_tokens_details: { cached_tokens: usage.cached },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning },
  total_tokens: usage.input + usage.output,
});

/** A citation in an answer of responses. */
export const readResponsesCitation = ({ url, title, start_index: start, end_index: end }: Value): Citation =>
  defined({ url: textOf(url), title: textOf(title), start: numberOf(start), end: numberOf(end) });

/** Writes a citation of a text so long, of all of it unless it has a place; undefined for one without an address. */
export const writeResponsesCitation = ({ url, title, start = 0, end }: Citation, length: number): Value | undefined =>
  url === undefined
    ? undefined
    : { type: 'url_citation', url, title: title ?? '', start_index: start, end_index: end ?? length };

/** Why a response ended, by its status and details. */
export function finishOf(response: Value, hasCalls: boolean): Finish {
  const { reason } = objectOf(response['incomplete_details']);
  if (response['status'] === 'incomplete') return reason === 'content_filter' ? 'refusal' : 'length';
  return hasCalls ? 'calls' : 'stop';
}

/** Reads a whole answer of responses. */
export function readResponsesReply(body: Value): Reply {
  const ids = new CallIds(textOf(body['id']));
  const blocks = objectsOf(body['output']).flatMap((item) => readOutput(item, ids));
  const usage = readResponsesUsage(body);
  return {
    id: textOf(body['id']) ?? '',
    model: textOf(body['model']) ?? '',
    blocks,
    finish: finishOf(
      body,
      blocks.some(({ type }) => type === 'call'),
    ),
    ...(usage && { usage }),
  };
}

function readOutput(item: Value, ids: CallIds): Block[] {
  if (item['type'] === 'reasoning') return [readReasoning(item)];
  if (item['type'] === 'function_call') {
    const [name = '', input = ''] = [item['name'], item['arguments']].map(textOf);
    if (input === '' && item['status'] === 'incomplete') return [];
    return [{ type: 'call', id: ids.unique(textOf(item['call_id'])), name, input: input || '{}' }];
  }
  if (item['type'] !== 'message') return [];
  return objectsOf(item['content']).map((part): Block => {
    if (part['type'] === 'refusal') return { type: 'refusal', text: textOf(part['refusal']) ?? '' };
    const citations = objectsOf(part['annotations'])
      .filter(({ type }) => type === 'url_citation')
      .map(readResponsesCitation);
    return { type: 'text', text: textOf(part['text']) ?? '', ...(citations.length > 0 && { citations }) };
  });
}

/** The item of an answer that a block is, or is a part of. Its id is of this answer and says where it stands. */
export function writeOutputItem(block: Block, id: string, status = 'completed'): Value | undefined {
  switch (block.type) {
    case 'text': {
      const { text, citations = [] } = block;
      const annotations = citations.flatMap((one) => writeResponsesCitation(one, text.length) ?? []);
      const part = { type: 'output_text', text: block.text, annotations, logprobs: [] };
      return { id, type: 'message', status, role: 'assistant', content: [part] };
    }
    case 'refusal':
      return { id, type: 'message', status, role: 'assistant', content: [{ type: 'refusal', refusal: block.text }] };
    case 'thinking':
      return {
        id,
        type: 'reasoning',
        summary: block.text === '' ? [] : [{ type: 'summary_text', text: block.text }],
        ...defined({ encrypted_content: block.signature }),
      };
    case 'redacted':
      return { id, type: 'reasoning', summary: [], encrypted_content: block.data };
    case 'call':
      return { id, type: 'function_call', status, call_id: block.id, name: block.name, arguments: block.input };
    case 'image':
    case 'document':
    case 'audio':
    case 'result':
      return undefined;
    default:
      return block satisfies never;
  }
}

const prefixes: Readonly<Record<string, string>> = { thinking: 'rs', redacted: 'rs', call: 'fc' };

/** The id of an item: by what it is, of which answer, where it stands. */
export const itemId = (type: string, answerId: string, at: number): string =>
  `${prefixes[type] ?? 'msg'}_${answerId.replace(/^[a-z]+[_-]/, '')}_${at}`;

/** Of an answer that is under way, that is over, or that failed. `created` is in seconds. */
export function responseOf(
  reply: Pick<Reply, 'id' | 'model'> & { output: Value[]; finish?: Finish; usage?: Usage; error?: string },
  created: number,
): Value {
  const { id, model, output, finish, usage, error } = reply;
  const isIncomplete = isCut(finish);
  const status =
    error !== undefined ? 'failed' : finish === undefined ? 'in_progress' : isIncomplete ? 'incomplete' : 'completed';
  return {
    id: idAs('responses', id),
    object: 'response',
    created_at: created,
    status,
    error: error === undefined ? null : { code: 'server_error', message: error },
    incomplete_details: isIncomplete ? { reason: finish === 'length' ? 'max_output_tokens' : 'content_filter' } : null,
    instructions: null,
    metadata: {},
    model,
    output,
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    usage: usage ? writeUsage(usage) : null,
  };
}

/** The status of an item of an answer that ended so: a call in whose input it was cut is not whole. */
export const statusOf = (block: Block, finish: Finish | undefined): string =>
  block.type === 'call' && isCut(finish) && !isWholeInput(block.input) ? 'incomplete' : 'completed';

/** Writes a whole answer of responses. `created` is in seconds. */
export function writeResponsesReply(reply: Reply, created: number): Value {
  const output = reply.blocks.flatMap<Value>(
    (block, at) => writeOutputItem(block, itemId(block.type, reply.id, at), statusOf(block, reply.finish)) ?? [],
  );
  return responseOf({ ...reply, output }, created);
}
