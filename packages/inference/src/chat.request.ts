import { inputOf } from './chat.calls.ts';
import { dialectOf, type WriteOptions } from './dialect.ts';
import { callIdAs } from './ids.ts';
import { limitOf } from './limits.ts';
import { type Block, type Conversation, type Effort, effortOf, efforts, type Message, type Tool } from './model.ts';
import { isSealed, type Returned, returnedOf, withPlaceholders } from './sealed.ts';
import { forMessages, instructionsIn, isInstruction, settled } from './system.ts';
import {
  defined,
  isObject,
  numberOf,
  objectOf,
  objectsOf,
  sourceOf,
  textOf,
  typeName,
  Untranslatable,
  urlOf,
  type Value,
} from './values.ts';

/** Reads a request of chat completions. Throws `Untranslatable` for what only a lane of its own protocol can do. */
export function readChatRequest(body: Value): Conversation {
  if ((numberOf(body['n']) ?? 1) !== 1) throw new Untranslatable('n', 'one answer at a time, on this model');
  const messages = objectsOf(body['messages']);
  const effort = efforts.find((one) => one === body['reasoning_effort']);
  const stop = body['stop'];
  return {
    ...settled([], messages.map(readMessage)),
    tools: objectsOf(body['tools']).map(readTool),
    stream: body['stream'] === true,
    ...defined({
      choice: readChoice(body['tool_choice']),
      parallel: typeof body['parallel_tool_calls'] === 'boolean' ? body['parallel_tool_calls'] : undefined,
      maxTokens: limitOf(body),
      temperature: numberOf(body['temperature']),
      topP: numberOf(body['top_p']),
      topK: numberOf(body['top_k']),
      seed: numberOf(body['seed']),
      stop: typeof stop === 'string' ? [stop] : Array.isArray(stop) ? stop.map(String) : undefined,
      effort,
      format: readFormat(objectOf(body['response_format'])),
      user: textOf(body['user']),
    }),
  };
}

/** Texts of content that is one text or a list of parts. */
const textsOf = (content: unknown): string[] =>
  typeof content === 'string' ? [content] : objectsOf(content).map(({ text }) => textOf(text) ?? '');

function readMessage(message: Value): Message {
  const { role, content } = message;
  if (isInstruction(message)) return { role: 'system', blocks: [{ type: 'text', text: textsOf(content).join('\n') }] };
  if (role === 'tool' || role === 'function') {
    const id = textOf(message['tool_call_id']) ?? textOf(message['name']) ?? '';
    return { role: 'user', blocks: [{ type: 'result', id, content: readParts(content) }] };
  }
  if (role !== 'assistant') return { role: 'user', blocks: readParts(content) };
  const thinking = objectsOf(message['thinking_blocks']).flatMap((one): Block[] => {
    if (one['type'] === 'redacted_thinking') return [{ type: 'redacted', data: textOf(one['data']) ?? '' }];
    const text = textOf(one['thinking']) ?? '';
    return [{ type: 'thinking', text, ...defined({ signature: textOf(one['signature']) }) }];
  });
  const thought = textOf(message['reasoning_content']) ?? '';
  if (thinking.length === 0 && thought !== '') thinking.push({ type: 'thinking', text: thought });
  const calls = objectsOf(message['tool_calls']).map((call): Block => {
    const { name, arguments: input } = objectOf(call['function']);
    return { type: 'call', id: textOf(call['id']) ?? '', name: textOf(name) ?? '', input: inputOf(input) || '{}' };
  });
  const refusal = textOf(message['refusal']);
  const refused: Block[] = refusal ? [{ type: 'refusal', text: refusal }] : [];
  return { role: 'assistant', blocks: [...thinking, ...readParts(content), ...refused, ...calls] };
}

function readParts(content: unknown): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return objectsOf(content).map((part): Block => {
    switch (part['type']) {
      case 'text':
        return { type: 'text', text: textOf(part['text']) ?? '' };
      case 'refusal':
        return { type: 'refusal', text: textOf(part['refusal']) ?? '' };
      case 'image_url': {
        const { url, detail } = objectOf(part['image_url']);
        return { type: 'image', source: sourceOf(textOf(url) ?? ''), ...defined({ detail: textOf(detail) }) };
      }
      case 'input_audio': {
        const { data, format } = objectOf(part['input_audio']);
        return { type: 'audio', data: textOf(data) ?? '', format: textOf(format) ?? 'wav' };
      }
      case 'file': {
        const { file_data: data, filename } = objectOf(part['file']);
        if (typeof data !== 'string') break;
        return { type: 'document', source: sourceOf(data), ...defined({ name: textOf(filename) }) };
      }
      default:
    }
    throw new Untranslatable('messages', `a part of type ${typeName(part['type'])} is for lanes of its own protocol`);
  });
}

function readTool({ type, function: definition }: Value): Tool {
  if (type !== 'function')
    throw new Untranslatable('tools', `a tool of type ${typeName(type)} runs at its provider only`);
  const { name, description, parameters, strict } = objectOf(definition);
  return {
    name: textOf(name) ?? '',
    schema: parameters ?? { type: 'object', properties: {} },
    ...defined({ description: textOf(description), strict: typeof strict === 'boolean' ? strict : undefined }),
  };
}

function readChoice(choice: unknown): Conversation['choice'] {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice;
  const name = textOf(objectOf(objectOf(choice)['function'])['name']);
  return name === undefined ? undefined : { name };
}

function readFormat({ type, json_schema: schema }: Value): Conversation['format'] {
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema' || !isObject(schema)) return undefined;
  const { name, schema: shape, strict } = schema;
  return {
    type: 'schema',
    name: textOf(name) ?? 'answer',
    schema: shape,
    ...defined({ strict: typeof strict === 'boolean' ? strict : undefined }),
  };
}

/** Writes a conversation as a request of chat completions; of a stream the usage is asked for too. */
export function writeChatRequest(conversation: Conversation, model: string, options: WriteOptions = {}): Value {
  const { limit, signatures, systemTurns } = options.dialect ?? dialectOf('chat', model);
  const { tools, choice, stream, thinkingTokens } = conversation;
  const { system, messages } = systemTurns === false ? forMessages(conversation, false) : conversation;
  const effort: Effort | undefined =
    conversation.effort ?? (thinkingTokens === undefined ? undefined : effortOf(thinkingTokens));
  const said = messages.flatMap((message) => {
    const returned = returnedOf(thoughtsIn(message.blocks), model, signatures);
    return writeMessage(message, returned, conversation.sendsThinking);
  });
  return {
    model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...(signatures === undefined ? said : withPlaceholders(said)),
    ],
    ...defined({
      tools:
        tools.length === 0
          ? undefined
          : tools.map(({ schema, ...tool }) => ({
              type: 'function',
              function: { ...tool, parameters: schema },
            })),
      tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
      parallel_tool_calls: tools.length === 0 ? undefined : conversation.parallel,
      max_completion_tokens: limit === 'max_tokens' ? undefined : conversation.maxTokens,
      max_tokens: limit === 'max_completion_tokens' ? undefined : conversation.maxTokens,
      temperature: conversation.temperature,
      top_p: conversation.topP,
      top_k: conversation.topK,
      seed: conversation.seed,
      stop: conversation.stop,
      reasoning_effort: effort,
      response_format: writeFormat(conversation.format),
      user: conversation.user,
    }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
}

function writeFormat(format: Conversation['format']): unknown {
  if (!format) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { type: _, ...schema } = format;
  return { type: 'json_schema', json_schema: schema };
}

function writeMessage({ role, blocks }: Message, returned: Returned, sendsThinking = false): Value[] {
  if (role === 'system') {
    const content = instructionsIn(blocks);
    return content === '' ? [] : [{ role, content }];
  }
  if (role === 'assistant') {
    const thinking = sendsThinking ? writeThinking(blocks) : {};
    return [{ ...writeAssistant(blocks, returned), ...thinking, ...returned.fields }];
  }
  const results = blocks.filter((block) => block.type === 'result');
  // A tool's answer holds text only; what it shows besides goes to the turn that follows.
  const shown = results.flatMap(({ content }) => content.filter(({ type }) => type !== 'text'));
  const rest = [...shown, ...blocks.filter(({ type }) => type !== 'result')];
  const tools = results.map(({ id, content, isError }) => {
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return {
      role: 'tool',
      tool_call_id: callIdAs('chat', id),
      content: isError === true && text === '' ? 'the tool failed' : text,
    };
  });
  const [first] = rest;
  if (!first) return tools;
  const content = rest.length === 1 && first.type === 'text' ? first.text : rest.flatMap(writePart);
  return [...tools, { role: 'user', content }];
}

/** The thoughts among blocks. */
export const thoughtsIn = (blocks: readonly Block[]) => blocks.filter((block) => block.type === 'thinking');

/** A call, with what its model wants back with it. */
export function writeCall({ id, name, input }: Extract<Block, { type: 'call' }>, { extras }: Returned): Value {
  const extra = extras.get(id);
  return { id, type: 'function', function: { name, arguments: input }, ...(extra && { extra_content: extra }) };
}

function writeAssistant(blocks: readonly Block[], returned: Returned): Value {
  const calls = blocks.filter((block) => block.type === 'call');
  const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const refusal = blocks.map((block) => (block.type === 'refusal' ? block.text : '')).join('');
  return {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    ...(refusal !== '' && { refusal }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({ ...writeCall(call, returned), id: callIdAs('chat', call.id) })),
    }),
  };
}

/** Thinking in a message: its text, and the blocks of it that are signed. */
export function writeThinking(blocks: readonly Block[]): Value {
  const thought = blocks.map((block) => (block.type === 'thinking' ? block.text : '')).join('');
  const signed = blocks.flatMap((block): Value[] => {
    if (block.type === 'redacted') return [{ type: 'redacted_thinking', data: block.data }];
    if (block.type !== 'thinking' || block.signature === undefined || isSealed(block.signature)) return [];
    return [{ type: 'thinking', thinking: block.text, signature: block.signature }];
  });
  return {
    ...(thought !== '' && { reasoning_content: thought }),
    ...(signed.length > 0 && { thinking_blocks: signed }),
  };
}

function writePart(block: Block): Value[] {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: urlOf(block.source), ...defined({ detail: block.detail }) } }];
    case 'document':
      if ('url' in block.source) throw new Untranslatable('messages', 'a document by its address; send its bytes');
      return [{ type: 'file', file: { filename: block.name ?? 'document.pdf', file_data: urlOf(block.source) } }];
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: block.data, format: block.format } }];
    case 'thinking':
    case 'redacted':
    case 'call':
    case 'result':
      return [];
    default:
      return block satisfies never;
  }
}
