import { callIdAs } from './ids.ts';
import { type Block, type Conversation, efforts, effortOf, type Message, plainText, type Tool } from './model.ts';
import { isSealed } from './sealed.ts';
import { isInstruction, settled } from './system.ts';
import { joinedThoughts } from './thoughts.ts';
import {
  defined,
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

/** Reads a request of responses. Throws `Untranslatable` for what only a lane of its own protocol can do. */
export function readResponsesRequest(body: Value): Conversation {
  const { input } = body;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : joinedThoughts(objectsOf(input));
  return {
    ...settled([textOf(body['instructions']) ?? ''], items.map(readItem)),
    tools: objectsOf(body['tools']).map(readTool),
    stream: body['stream'] === true,
    ...defined({
      choice: readChoice(body['tool_choice']),
      parallel: typeof body['parallel_tool_calls'] === 'boolean' ? body['parallel_tool_calls'] : undefined,
      maxTokens: numberOf(body['max_output_tokens']),
      temperature: numberOf(body['temperature']),
      topP: numberOf(body['top_p']),
      effort: efforts.find((one) => one === objectOf(body['reasoning'])['effort']),
      format: readFormat(objectOf(objectOf(body['text'])['format'])),
      user: textOf(body['user']),
    }),
  };
}

function readItem(item: Value): Message {
  const { type = 'message', role, content } = item;
  if (isInstruction(item)) return { role: 'system', blocks: [{ type: 'text', text: plainText(readParts(content)) }] };
  switch (type) {
    case 'message':
      return { role: role === 'assistant' ? 'assistant' : 'user', blocks: readParts(content) };
    case 'function_call': {
      const [id, name, input] = [item['call_id'], item['name'], item['arguments']].map((one) => textOf(one) ?? '');
      return { role: 'assistant', blocks: [{ type: 'call', id: id ?? '', name: name ?? '', input: input || '{}' }] };
    }
    case 'function_call_output': {
      const block: Block = { type: 'result', id: textOf(item['call_id']) ?? '', content: readParts(item['output']) };
      return { role: 'user', blocks: [block] };
    }
    case 'reasoning':
      return { role: 'assistant', blocks: [readReasoning(item)] };
    default:
      throw new Untranslatable('input', `an item of type ${typeName(type)} is for lanes of its own protocol`);
  }
}

/** Reads an item of reasoning: its text, else its summary. */
export function readReasoning(item: Value): Block {
  const texts = objectsOf(item['content']).length > 0 ? objectsOf(item['content']) : objectsOf(item['summary']);
  const text = texts.map((one) => textOf(one['text']) ?? '').join('\n\n');
  return { type: 'thinking', text, ...defined({ signature: textOf(item['encrypted_content']) }) };
}

function readParts(content: unknown): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return objectsOf(content).map((part): Block => {
    switch (part['type']) {
      case 'input_text':
      case 'output_text':
      case 'text':
        return { type: 'text', text: textOf(part['text']) ?? '' };
      case 'refusal':
        return { type: 'refusal', text: textOf(part['refusal']) ?? '' };
      case 'input_image': {
        const url = textOf(part['image_url']);
        if (url === undefined) break;
        return { type: 'image', source: sourceOf(url), ...defined({ detail: textOf(part['detail']) }) };
      }
      case 'input_file': {
        const where = textOf(part['file_data']) ?? textOf(part['file_url']);
        if (where === undefined) break;
        return { type: 'document', source: sourceOf(where), ...defined({ name: textOf(part['filename']) }) };
      }
      default:
    }
    throw new Untranslatable('input', `a part of type ${typeName(part['type'])} is for lanes of its own protocol`);
  });
}

function readTool({ type, name, description, parameters, strict }: Value): Tool {
  if (type !== 'function')
    throw new Untranslatable('tools', `a tool of type ${typeName(type)} runs at its provider only`);
  return {
    name: textOf(name) ?? '',
    schema: parameters ?? { type: 'object', properties: {} },
    ...defined({ description: textOf(description), strict: typeof strict === 'boolean' ? strict : undefined }),
  };
}

function readChoice(choice: unknown): Conversation['choice'] {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice;
  const name = textOf(objectOf(choice)['name']);
  return name === undefined ? undefined : { name };
}

function readFormat({ type, name, schema, strict }: Value): Conversation['format'] {
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema') return undefined;
  const isStrict = typeof strict === 'boolean' ? strict : undefined;
  return { type: 'schema', name: textOf(name) ?? 'answer', schema, ...defined({ strict: isStrict }) };
}

/** Writes a conversation as a request of responses that its provider does not keep. */
export function writeResponsesRequest(conversation: Conversation, model: string): Value {
  const { system, messages, tools, choice, format, stream, thinkingTokens } = conversation;
  const effort = conversation.effort ?? (thinkingTokens === undefined ? undefined : effortOf(thinkingTokens));
  const { type: formatType, ...shape } = format ?? { type: undefined };
  return {
    model,
    input: messages.flatMap(writeMessage),
    store: false,
    ...(system !== '' && { instructions: system }),
    ...defined({
      tools: tools.length === 0 ? undefined : tools.map(writeTool),
      tool_choice: typeof choice === 'object' ? { type: 'function', name: choice.name } : choice,
      parallel_tool_calls: tools.length === 0 ? undefined : conversation.parallel,
      max_output_tokens: conversation.maxTokens,
      temperature: conversation.temperature,
      top_p: conversation.topP,
      reasoning: effort === undefined ? undefined : { effort, summary: 'auto' },
      // With this the provider gives its thinking out in a form that can be sent back.
      include: effort === undefined || effort === 'none' ? undefined : ['reasoning.encrypted_content'],
      text: format && { format: { type: formatType === 'json' ? 'json_object' : 'json_schema', ...shape } },
      user: conversation.user,
    }),
    ...(stream && { stream: true }),
  };
}

const writeTool = ({ name, description, schema, strict = false }: Tool): Value => ({
  type: 'function',
  name,
  ...defined({ description }),
  parameters: schema,
  strict,
});

function writeMessage({ role, blocks }: Message): Value[] {
  const items: Value[] = [];
  let parts: Value[] = [];
  const flush = (): void => {
    if (parts.length > 0) items.push({ type: 'message', role, content: parts });
    parts = [];
  };
  for (const block of blocks) {
    const item = writeItem(block);
    if (item) {
      flush();
      items.push(item);
    } else parts.push(...writePart(block, role));
  }
  flush();
  return items;
}

function writeItem(block: Block): Value | undefined {
  if (block.type === 'call')
    return {
      type: 'function_call',
      call_id: callIdAs('responses', block.id),
      name: block.name,
      arguments: block.input,
    };
  if (block.type === 'result') {
    const isText = block.content.every(({ type }) => type === 'text');
    const output = isText ? plainText(block.content) : block.content.flatMap((part) => writePart(part, 'user'));
    return { type: 'function_call_output', call_id: callIdAs('responses', block.id), output };
  }
  if (block.type !== 'thinking' || block.signature === undefined || isSealed(block.signature)) return undefined;
  const summary = block.text === '' ? [] : [{ type: 'summary_text', text: block.text }];
  return { type: 'reasoning', summary, encrypted_content: block.signature };
}

function writePart(block: Block, role: Message['role']): Value[] {
  switch (block.type) {
    case 'text':
      if (block.text === '') return [];
      return role === 'assistant'
        ? [{ type: 'output_text', text: block.text, annotations: [] }]
        : [{ type: 'input_text', text: block.text }];
    case 'refusal':
      return [{ type: 'refusal', refusal: block.text }];
    case 'image':
      return [{ type: 'input_image', image_url: urlOf(block.source), detail: block.detail ?? 'auto' }];
    case 'document':
      return 'url' in block.source
        ? [{ type: 'input_file', file_url: block.source.url }]
        : [{ type: 'input_file', filename: block.name ?? 'document.pdf', file_data: urlOf(block.source) }];
    case 'audio':
      throw new Untranslatable('messages', 'this model hears no audio');
    case 'thinking':
    case 'redacted':
    case 'call':
    case 'result':
      return [];
    default:
      return block satisfies never;
  }
}
