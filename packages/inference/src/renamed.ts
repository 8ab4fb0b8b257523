import { callIdAs } from './ids.ts';
import { changed } from './mended.ts';
import type { Protocol } from './protocol.ts';
import { objectsOf, textOf, type Value } from './values.ts';

type Rename = (id: unknown) => string | undefined;

/** The entry with another id under one of its names; undefined where it keeps its own. */
function withName(one: Value, name: string, rename: Rename): Value | undefined {
  const id = rename(one[name]);
  return id === undefined ? undefined : { ...one, [name]: id };
}

function inChat(message: Value, rename: Rename): Value | undefined {
  if (message['role'] === 'tool') return withName(message, 'tool_call_id', rename);
  const calls = changed(message['tool_calls'], (call) => withName(call, 'id', rename));
  return calls && { ...message, tool_calls: calls };
}

function inMessages(message: Value, rename: Rename): Value | undefined {
  const content = changed(message['content'], (block) => {
    if (block['type'] === 'tool_use') return withName(block, 'id', rename);
    return block['type'] === 'tool_result' ? withName(block, 'tool_use_id', rename) : undefined;
  });
  return content && { ...message, content };
}

const isCall = ({ type }: Value): boolean => type === 'function_call' || type === 'custom_tool_call';
const isOutput = ({ type }: Value): boolean => type === 'function_call_output' || type === 'custom_tool_call_output';

/** Ids of the calls in a request. */
function callsIn(protocol: Protocol, body: Value): unknown[] {
  if (protocol === 'responses')
    return objectsOf(body['input'])
      .filter(isCall)
      .map((item) => item['call_id']);
  return objectsOf(body['messages']).flatMap((message) =>
    protocol === 'chat'
      ? objectsOf(message['tool_calls']).map(({ id }) => id)
      : objectsOf(message['content'])
          .filter(({ type }) => type === 'tool_use')
          .map(({ id }) => id),
  );
}

/**
 * Fields of a request that goes to a lane of its own protocol, with ids of calls as the protocol's makers take them:
 * they are another maker's where the conversation moved. A result of a call that the provider keeps stays. None: it
 * goes as it is.
 */
export function renamedCalls(protocol: Protocol, body: Value): Record<string, unknown> {
  const names = new Map<unknown, string>();
  for (const id of callsIn(protocol, body)) {
    const own = callIdAs(protocol, textOf(id) ?? '');
    if (typeof id === 'string' && own !== id) names.set(id, own);
  }
  if (names.size === 0) return {};
  const rename: Rename = (id) => names.get(id);
  if (protocol === 'responses') {
    const input = changed(body['input'], (item) =>
      isCall(item) || isOutput(item) ? withName(item, 'call_id', rename) : undefined,
    );
    return input ? { input } : {};
  }
  const change = protocol === 'chat' ? inChat : inMessages;
  const messages = changed(body['messages'], (message) => change(message, rename));
  return messages ? { messages } : {};
}
