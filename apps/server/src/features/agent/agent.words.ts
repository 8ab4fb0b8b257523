import {
  type Block,
  isObject,
  type Message,
  objectOf,
  objectsOf,
  type Protocol,
  textOf,
  type Value,
} from '@svc/inference';

/** A turn in which the model called tools of ours. */
export interface AgentTurn {
  lane: { id: string; protocol: Protocol };
  blocks: readonly Block[];
  results: Block[];
}

/**
 * The messages of a turn for a lane. Thinking goes back only where it is understood: a signature belongs to its maker, and a
 * server of chat completions refuses fields that it does not know.
 */
export function messagesFor({ lane, blocks, results }: AgentTurn, to: AgentTurn['lane']): Message[] {
  const isUnderstood = to.protocol === 'chat' ? to.id === lane.id : to.protocol === lane.protocol;
  const said = blocks.filter(({ type }) => isUnderstood || (type !== 'thinking' && type !== 'redacted'));
  return [
    { role: 'assistant', blocks: said },
    { role: 'user', blocks: results },
  ];
}

/** Names of the tools that the client runs. */
export const clientTools = (body: Value): Set<string> =>
  new Set(
    [...objectsOf(body['tools']), ...objectsOf(body['functions'])].flatMap(
      (tool) =>
        [tool, tool['function'], tool['custom']].map((one) => textOf(objectOf(one)['name'])).find(Boolean) ?? [],
    ),
  );

/** The client's choice of tools after the first turn: what it forces is forced once, or the model could not end. */
export function unforced(choice: unknown): unknown {
  if (!isObject(choice)) return choice === 'required' ? undefined : choice;
  const { type } = choice;
  if (type === 'any' || type === 'tool') {
    const { name: _, ...rest } = choice;
    return { ...rest, type: 'auto' };
  }
  if (type === 'allowed_tools' && isObject(choice['allowed_tools']))
    return { ...choice, allowed_tools: { ...choice['allowed_tools'], mode: 'auto' } };
  return type === 'function' || type === 'custom' ? undefined : choice;
}

/** Whether the answer's text must be JSON. */
export function wantsJson(body: Value): boolean {
  const { format = body['output_format'] ?? body['response_format'] } = objectOf(body['output_config']);
  const { type } = objectOf(format);
  return type === 'json_object' || type === 'json_schema';
}

/** A line of the list of files that is appended to the answer. A name is a model's own words: it stays a name. */
export function lineOf({ path, url, scan }: { path: string; url?: string | undefined; scan: string }): string {
  const name = path
    .replace(/^out\//, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\\`*_[\]<>!&~|]/g, '\\$&');
  return url === undefined ? `- ${name} (held back by the scanner: ${scan})` : `- [${name}](${url})`;
}
