import { isCutBy } from './chat.answer.ts';
import { inputOf } from './chat.calls.ts';
import { CallIds, mostCalls } from './ids.ts';
import type { Protocol } from './protocol.ts';
import { isObject, objectOf, objectsOf, textOf, type Value } from './values.ts';

/** What a list becomes when some of its entries do; undefined where none does. */
export function changed(given: unknown, change: (one: Value) => Value | undefined): unknown[] | undefined {
  if (!Array.isArray(given)) return undefined;
  let isChanged = false;
  const all = (given as unknown[]).map((one) => {
    const other = isObject(one) ? change(one) : undefined;
    isChanged ||= other !== undefined;
    return other ?? one;
  });
  return isChanged ? all : undefined;
}

/** The entry with an id of its own in this answer; undefined where it has one. */
function withId(one: Value, name: 'id' | 'call_id', ids: CallIds): Value | undefined {
  const id = ids.unique(textOf(one[name]));
  return id === one[name] ? undefined : { ...one, [name]: id };
}

/** `none`: what stands for no input. */
function callOfChat(call: Value, ids: CallIds, none: string): Value | undefined {
  const said = objectOf(call['function']);
  const input = inputOf(said['arguments']) || none;
  const own = withId(call, 'id', ids);
  if (!own && said['arguments'] === input && typeof call['type'] === 'string') return undefined;
  return { type: 'function', ...(own ?? call), function: { ...said, arguments: input } };
}

function choiceOfChat(choice: Value, answerId: string | undefined): Value | undefined {
  const message = objectOf(choice['message']);
  const ids = new CallIds(answerId);
  // Where the answer was cut, the last may be the begin of a call.
  const last = isCutBy(textOf(choice['finish_reason'])) ? objectsOf(message['tool_calls']).at(-1) : undefined;
  const calls = changed(message['tool_calls'], (call) =>
    call['type'] === undefined || call['type'] === 'function'
      ? callOfChat(call, ids, call === last ? '' : '{}')
      : undefined,
  );
  return calls && { ...choice, message: { ...message, tool_calls: calls } };
}

/**
 * Fields of a whole answer as they should have been, where a client of the same protocol would mix its calls up: ids
 * that are missing or stand twice, input that is no text or none. None: it goes as it is.
 */
export function mendedReply(protocol: Protocol, body: Value): Record<string, unknown> {
  const answerId = textOf(body['id']);
  if (protocol === 'chat') {
    const choices = changed(body['choices'], (choice) => choiceOfChat(choice, answerId));
    return choices ? { choices } : {};
  }
  const ids = new CallIds(answerId);
  if (protocol === 'messages') {
    const content = changed(body['content'], (one) =>
      one['type'] === 'tool_use' ? withId(one, 'id', ids) : undefined,
    );
    return content ? { content } : {};
  }
  const output = changed(body['output'], (one) =>
    one['type'] === 'function_call' ? withId(one, 'call_id', ids) : undefined,
  );
  return output ? { output } : {};
}

/** Whether a whole answer, or one of several that it holds, has more calls than an answer may have. */
export function hasTooManyCalls(protocol: Protocol, body: Value): boolean {
  const kinds = { chat: '', messages: 'tool_use', responses: 'function_call' } as const;
  const lists =
    protocol === 'chat'
      ? objectsOf(body['choices']).map(({ message }) => objectsOf(objectOf(message)['tool_calls']))
      : [
          objectsOf(body[protocol === 'messages' ? 'content' : 'output']).filter(
            ({ type }) => type === kinds[protocol],
          ),
        ];
  return lists.some(({ length }) => length > mostCalls);
}
