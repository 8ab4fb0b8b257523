import { type Effort, tokensOf } from './model.ts';
import type { Protocol } from './protocol.ts';
import { isObject, numberOf, objectOf, objectsOf, textOf, Untranslatable, type Value } from './values.ts';

/** Names of the limit of an answer's tokens, by any client. */
const limitNames = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const;
const canonical = { chat: 'max_completion_tokens', messages: 'max_tokens', responses: 'max_output_tokens' } as const;
const mostLimit = 1_000_000;
/** Uses of tools that run at the provider, where a client sets no limit. */
const usualUses = 5;
/** An image in base64 takes far fewer tokens than bytes: more than any model counts for one. */
const tokensOfImage = 50_000;

/** Tools that the client runs: what they cost is in the tokens of the requests that bring their results. */
const clientTools =
  /^(?:function|custom|local_shell|shell|apply_patch|computer.*|bash_.*|text_editor_.*|memory_.*|svc_.*|exec_.*)$/;
/** Tools that run at the provider, whose uses a request can limit and a price is known of. */
const countedTools: Readonly<Record<Protocol, RegExp>> = {
  chat: /^$/,
  messages: /^web_(?:search|fetch)_\d+$/,
  responses: /^(?:web_search.*|file_search)$/,
};
/** Fields of a request that make the provider read what the request does not hold, and fields of its parts. */
const kept = ['previous_response_id', 'conversation', 'prompt', 'container'];
const references = new Set(['file_id', 'file_url']);
/** Parts whose text is packed: it may be longer than their bytes. */
const packed = new Set(['file', 'input_file']);
/** Values that raise a request's price over the table's. */
const dearer: readonly (readonly [string, RegExp])[] = [
  ['service_tier', /^(?:priority|fast|scale)$/],
  ['speed', /./],
  ['inference_geo', /./],
];

/** The most that a request may take of a model. */
export interface Bounds {
  /** Tokens of one answer, which are written into the request. */
  limit: number;
  answers: number;
  /** Further tokens that count as output: of a prediction that does not hold. */
  predicted: number;
  /** Tokens of what it sends; undefined: as many as the model reads. */
  input: number | undefined;
  /** Uses of tools at the provider, each of which reads anew. */
  uses: number;
  /** Tokens of thinking over the limit, for another protocol's effort. */
  thinking: number;
}

/** The largest limit that a request names; undefined for none. Zero does not count. */
export function limitOf(body: Value): number | undefined {
  const given = limitNames.flatMap((name) => numberOf(body[name]) ?? []).filter((one) => one > 0);
  return given.length === 0 ? undefined : Math.ceil(Math.min(Math.max(...given), mostLimit));
}

/**
 * The most that a request of so many bytes may take; `usual` stands in for a limit that it does not name. Throws
 * `Untranslatable` for what has no bound.
 */
export function boundsOf(protocol: Protocol, body: Value, bytes: number, usual: number): Bounds {
  for (const [field, value] of dearer) {
    if (value.test(textOf(body[field]) ?? '')) throw unbounded(field, 'raises the price');
  }
  const { images, imageBytes, isElsewhere } = sizeOf(body);
  const given = Math.ceil(numberOf(body['n']) ?? 1);
  return {
    limit: limitOf(body) ?? usual,
    answers: Math.max(1, given),
    predicted: isObject(body['prediction']) ? bytes : 0,
    // No tokenizer makes more tokens than bytes; the rest is what a provider's template adds.
    input: isElsewhere ? undefined : bytes - imageBytes + images * tokensOfImage + 1_000,
    uses: usesOf(protocol, body),
    thinking: thinkingOf(body),
  };
}

/** Fields of the request that keep it within its bounds: over the client's own, with the name that a lane knows too. */
export function boundedFields(protocol: Protocol, body: Value, { limit, uses }: Bounds): Record<string, unknown> {
  const names = limitNames.filter((name) => body[name] !== undefined);
  const fields: Record<string, unknown> = Object.fromEntries(
    (names.length > 0 ? names : [canonical[protocol]]).map((name) => [name, limit]),
  );
  // As it was judged: of a name that stands twice in a tool the provider may take the other value.
  for (const name of ['n', 'tools']) if (body[name] !== undefined) fields[name] = body[name];
  if (uses === 0) return fields;
  if (protocol === 'responses') return { ...fields, max_tool_calls: uses };
  // Each has a share: together they are used so often at most.
  const tools = objectsOf(body['tools']);
  const share = Math.max(1, Math.floor(uses / tools.filter(isCounted('messages')).length));
  return { ...fields, tools: tools.map((tool) => (isCounted('messages')(tool) ? { ...tool, max_uses: share } : tool)) };
}

const isCounted =
  (protocol: Protocol) =>
  ({ type }: Value): boolean =>
    countedTools[protocol].test(textOf(type) ?? '');

function usesOf(protocol: Protocol, body: Value): number {
  if (isObject(body['web_search_options'])) throw unbounded('web_search_options', 'searches without a limit');
  if (Array.isArray(body['mcp_servers']) && body['mcp_servers'].length > 0)
    throw unbounded('mcp_servers', 'has the provider read without a limit');
  const tools = objectsOf(body['tools']).filter(({ type }) => !clientTools.test(textOf(type) ?? 'custom'));
  const free = tools.find((tool) => !isCounted(protocol)(tool));
  if (free) throw unbounded('tools', `with ${String(free['type']).slice(0, 60)} runs at the provider without a limit`);
  if (tools.length === 0) return 0;
  const asked = numberOf(body['max_tool_calls']);
  if (protocol === 'responses') return asked === undefined ? usualUses : Math.max(1, Math.min(asked, 100));
  const given = tools.map(({ max_uses: most }) => Math.max(1, Math.min(numberOf(most) ?? usualUses, 100)));
  return tools.length * Math.max(...given);
}

const unbounded = (field: string, what: string): Untranslatable =>
  new Untranslatable(field, `${what}, which a key with a spend cap may not ask for; use a key without one`);

function thinkingOf(body: Value): number {
  const effort = textOf(body['reasoning_effort']) ?? textOf(objectOf(body['reasoning'])['effort']);
  return effort === undefined || effort === 'none' ? 0 : tokensOf(effort as Effort);
}

/** How much of a request is images in base64, and whether it leads to text that its bytes do not bound. */
function sizeOf(body: Value): { images: number; imageBytes: number; isElsewhere: boolean } {
  const isKept = kept.some((name) => body[name] !== undefined && body[name] !== null);
  const size = { images: 0, imageBytes: 0, isElsewhere: isKept };
  // A list in place of recursion: the body's depth and number of values are bounded before.
  const open: unknown[] = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) for (const one of value as unknown[]) open.push(one);
    if (!isObject(value)) continue;
    const isImage = textOf(value['media_type'])?.startsWith('image/') === true;
    const isDocument = value['type'] === 'document' && textOf(objectOf(value['source'])['type']) !== 'text';
    size.isElsewhere ||= isDocument || packed.has(textOf(value['type']) ?? '');
    for (const [name, one] of Object.entries(value)) {
      if (typeof one !== 'string') {
        open.push(one);
      } else if (one.startsWith('data:image/') || (isImage && name === 'data')) {
        size.images++;
        size.imageBytes += one.length;
      } else if ((name === 'url' || name === 'image_url') && one.startsWith('http')) size.images++;
      else size.isElsewhere ||= references.has(name);
    }
  }
  return size;
}
