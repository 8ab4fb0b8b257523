import { type Dialect, dialectOf, type WriteOptions } from './dialect.ts';
import { callIdAs } from './ids.ts';
import {
  type Block,
  type Citation,
  type Conversation,
  effortOf,
  efforts,
  type Message,
  plainText,
  type Tool,
  tokensOf,
} from './model.ts';
import { isSealed } from './sealed.ts';
import { forMessages, instructionsIn, isInstruction, settled } from './system.ts';
import { joinedThoughts } from './thoughts.ts';
import {
  defined,
  isObject,
  numberOf,
  objectOf,
  objectsOf,
  parsed,
  type Source,
  textOf,
  typeName,
  Untranslatable,
  type Value,
} from './values.ts';

/** Default of a field that a request of messages must set and most other protocols leave open. */
const usualMaxTokens = 8_192;

/** Reads a request of messages. Throws `Untranslatable` for what only a lane of its own protocol can do. */
export function readMessagesRequest(body: Value): Conversation {
  const { system } = body;
  const turns = objectsOf(body['messages']).map(readMessage);
  const thinking = objectOf(body['thinking']);
  const choice = objectOf(body['tool_choice']);
  const output = objectOf(body['output_config']);
  const format = objectOf(output['format'] ?? body['output_format']);
  const effort = textOf(output['effort']) ?? (thinking['type'] === 'adaptive' ? 'high' : undefined);
  return {
    ...settled(typeof system === 'string' ? [system] : objectsOf(system).map(({ text }) => textOf(text) ?? ''), turns),
    tools: objectsOf(body['tools']).map(readTool),
    stream: body['stream'] === true,
    ...defined({
      choice: readChoice(choice),
      parallel: choice['disable_parallel_tool_use'] === true ? false : undefined,
      maxTokens: numberOf(body['max_tokens']),
      temperature: numberOf(body['temperature']),
      topP: numberOf(body['top_p']),
      topK: numberOf(body['top_k']),
      stop: Array.isArray(body['stop_sequences']) ? body['stop_sequences'].map(String) : undefined,
      thinkingTokens: thinking['type'] === 'enabled' ? numberOf(thinking['budget_tokens']) : undefined,
      // The others have nothing above it.
      effort: effort === 'max' ? ('xhigh' as const) : efforts.find((one) => one === effort),
      format:
        format['type'] === 'json_schema'
          ? ({ type: 'schema', name: 'answer', schema: format['schema'] } as const)
          : undefined,
      user: textOf(objectOf(body['metadata'])['user_id']),
    }),
  };
}

function readMessage(message: Value): Message {
  const { role, content } = message;
  const blocks: Block[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : joinedThoughts(objectsOf(content)).map(readMessagesBlock);
  if (isInstruction(message)) return { role: 'system', blocks: [{ type: 'text', text: instructionsIn(blocks) }] };
  return { role: role === 'assistant' ? 'assistant' : 'user', blocks };
}

/** Reads a block of a turn or of an answer. Throws `Untranslatable` for those of tools that run at the provider. */
export function readMessagesBlock(block: Value): Block {
  switch (block['type']) {
    case 'text': {
      const citations = objectsOf(block['citations']).map(readMessagesCitation);
      return { type: 'text', text: textOf(block['text']) ?? '', ...(citations.length > 0 && { citations }) };
    }
    case 'thinking':
      return {
        type: 'thinking',
        text: textOf(block['thinking']) ?? '',
        ...defined({ signature: textOf(block['signature']) || undefined }),
      };
    case 'redacted_thinking':
      return { type: 'redacted', data: textOf(block['data']) ?? '' };
    case 'image':
      return { type: 'image', source: readSource(objectOf(block['source'])) };
    case 'document': {
      const source = objectOf(block['source']);
      if (source['type'] === 'text') return { type: 'text', text: textOf(source['data']) ?? '' };
      return { type: 'document', source: readSource(source), ...defined({ name: textOf(block['title']) }) };
    }
    case 'tool_use': {
      const input = JSON.stringify(block['input'] ?? {});
      return { type: 'call', id: textOf(block['id']) ?? '', name: textOf(block['name']) ?? '', input };
    }
    case 'tool_result': {
      const { content } = block;
      return {
        type: 'result',
        id: textOf(block['tool_use_id']) ?? '',
        content:
          typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content).map(readMessagesBlock),
        ...(block['is_error'] === true && { isError: true }),
      };
    }
    default:
      throw new Untranslatable(
        'messages',
        `a block of type ${typeName(block['type'])} is for lanes of its own protocol`,
      );
  }
}

/** A citation in an answer of messages. */
export const readMessagesCitation = (given: Value): Citation =>
  defined({
    url: textOf(given['url']) ?? textOf(given['source']),
    title: textOf(given['title']) ?? textOf(given['document_title']),
    quote: textOf(given['cited_text']),
    asMessages: given,
  });

function readSource(source: Value): Source {
  const { type, media_type: mime, data, url } = source;
  if (type === 'base64') return { data: textOf(data) ?? '', mime: textOf(mime) ?? 'application/octet-stream' };
  if (type === 'url') return { url: textOf(url) ?? '' };
  throw new Untranslatable('messages', `a source of type ${typeName(type)} is for lanes of its own protocol`);
}

function readTool({ type, name, description, input_schema: schema, strict }: Value): Tool {
  if (type !== undefined && type !== null && type !== 'custom')
    throw new Untranslatable('tools', `the tool ${typeName(type)} runs at its provider only`);
  return {
    name: textOf(name) ?? '',
    schema: schema ?? { type: 'object', properties: {} },
    ...defined({ description: textOf(description), strict: typeof strict === 'boolean' ? strict : undefined }),
  };
}

function readChoice({ type, name }: Value): Conversation['choice'] {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  return type === 'tool' ? { name: textOf(name) ?? '' } : undefined;
}

/** System text in place of a format that this protocol cannot be asked for. */
const jsonOnly = 'Answer with one JSON object and nothing else.';

/** Writes a conversation as a request of messages. `maxTokens` stands in where the client says none; default 8,192. */
export function writeMessagesRequest(conversation: Conversation, model: string, options: WriteOptions = {}): Value {
  const { maxTokens = usualMaxTokens, dialect = dialectOf('messages', model) } = options;
  const { tools, choice, format, stop, user, stream } = conversation;
  const { system: prompt, messages } = forMessages(conversation, dialect.systemTurns === true);
  const system = [prompt, format?.type === 'json' ? jsonOnly : ''].filter(Boolean).join('\n\n');
  const { thinking, effort, tokens } = writeThinking(conversation, dialect);
  const isThinking = tokens > 0;
  const config = {
    ...(effort !== undefined && { effort }),
    ...(format?.type === 'schema' && { format: { type: 'json_schema', schema: format.schema } }),
  };
  return {
    model,
    // The client's limit is for the answer; thinking comes on top.
    max_tokens: (conversation.maxTokens ?? maxTokens) + tokens,
    messages: messages.map(writeMessage).filter(({ content }) => (content as unknown[]).length > 0),
    ...(system !== '' && { system }),
    ...(tools.length > 0 && {
      tools: tools.map(({ schema, ...tool }) => ({ ...tool, input_schema: schema })),
      ...writeChoice(choice, conversation.parallel),
    }),
    ...defined({
      // This protocol ends its scale at 1, and thinking allows no other than its own.
      temperature:
        conversation.temperature === undefined || isThinking ? undefined : Math.min(conversation.temperature, 1),
      top_p: isThinking ? undefined : conversation.topP,
      top_k: isThinking ? undefined : conversation.topK,
      stop_sequences: stop,
      thinking,
      metadata: user === undefined ? undefined : { user_id: user },
      output_config: Object.keys(config).length > 0 ? config : undefined,
    }),
    ...(stream && { stream: true }),
  };
}

/** How the model is told to think, and the tokens that it may take for it. */
function writeThinking({ effort, thinkingTokens, messages }: Conversation, dialect: Dialect): Thinking {
  const { thinking, thinksUnasked, topEffort } = dialect;
  const isOff = effort === 'none' || thinking === 'none';
  const wanted = isOff ? undefined : (thinkingTokens ?? (effort === undefined ? undefined : tokensOf(effort)));
  if (wanted === undefined || (thinking === 'budget' && lacksThinking(messages)))
    return { tokens: 0, ...(effort === 'none' && thinksUnasked && { thinking: { type: 'disabled' } }) };
  // The protocol's least.
  const tokens = Math.max(1_024, wanted);
  if (thinking === 'budget') return { tokens, thinking: { type: 'enabled', budget_tokens: tokens } };
  const asked = effort ?? effortOf(tokens);
  const level = asked === 'minimal' ? 'low' : asked === 'xhigh' ? topEffort : asked;
  return { tokens, effort: level, ...(thinking === 'adaptive' && { thinking: { type: 'adaptive' } }) };
}
type Thinking = { tokens: number; thinking?: Value; effort?: string };

/** Results go on with a turn that was not thought: the provider refuses to think from there. */
function lacksThinking(messages: readonly Message[]): boolean {
  const [said, results] = messages.filter(({ role }) => role !== 'system').slice(-2);
  if (!said || !results?.blocks.some(({ type }) => type === 'result')) return false;
  return !said.blocks.some(
    (block) =>
      block.type === 'redacted' ||
      (block.type === 'thinking' && block.signature !== undefined && !isSealed(block.signature)),
  );
}

function writeChoice(choice: Conversation['choice'], parallel: boolean | undefined): Value {
  const one = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined) return parallel === false ? { tool_choice: { type: 'auto', ...one } } : {};
  if (typeof choice === 'object') return { tool_choice: { type: 'tool', name: choice.name, ...one } };
  return { tool_choice: choice === 'none' ? { type: 'none' } : { type: choice === 'auto' ? 'auto' : 'any', ...one } };
}

function writeMessage({ role, blocks }: Message): Value {
  // Results stand first: the protocol wants them right after the calls.
  const ordered = [
    ...blocks.filter(({ type }) => type === 'result'),
    ...blocks.filter(({ type }) => type !== 'result'),
  ];
  return { role, content: ordered.flatMap(writeMessagesBlock) };
}

/** Writes a block; one that this protocol has no word for is left out, and so is empty text, which it refuses. */
function writeMessagesBlock(block: Block): Value[] {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }];
    case 'thinking':
      // Without its signature the provider refuses it, and with that of another maker.
      if (block.signature === undefined || isSealed(block.signature)) return [];
      return [{ type: 'thinking', thinking: block.text, signature: block.signature }];
    case 'redacted':
      return [{ type: 'redacted_thinking', data: block.data }];
    case 'image':
      return [{ type: 'image', source: writeSource(block.source) }];
    case 'document':
      return [{ type: 'document', source: writeSource(block.source), ...defined({ title: block.name }) }];
    case 'audio':
      throw new Untranslatable('messages', 'this model hears no audio');
    case 'call': {
      const input = parsed(block.input);
      return [
        { type: 'tool_use', id: callIdAs('messages', block.id), name: block.name, input: isObject(input) ? input : {} },
      ];
    }
    case 'result': {
      const isText = block.content.every(({ type }) => type === 'text');
      const content = isText ? plainText(block.content) : block.content.flatMap(writeMessagesBlock);
      return [
        {
          type: 'tool_result',
          tool_use_id: callIdAs('messages', block.id),
          content,
          ...(block.isError && { is_error: true }),
        },
      ];
    }
    default:
      return block satisfies never;
  }
}

const writeSource = (source: Source): Value =>
  'url' in source ? { type: 'url', url: source.url } : { type: 'base64', media_type: source.mime, data: source.data };
