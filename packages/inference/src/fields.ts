import type { Protocol } from './protocol.ts';
import { Untranslatable, type Value } from './values.ts';

/** Fields of a request by their fate on a lane of another protocol. */
interface Fields {
  /** Another protocol says it too. */
  kept: readonly string[];
  /** It changes no answer: labels, caches, what the provider keeps. */
  idle: readonly string[];
  /** The answer would be another thing, or lack what was asked for. */
  refused: readonly string[];
}

const shared = ['model', 'stream', 'tools', 'tool_choice', 'temperature', 'top_p', 'user'];
const idle = ['metadata', 'store', 'service_tier', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'];

/** Any other field that is set is dropped, and the client is told so in `x-svc-dropped`. */
const fields: Readonly<Record<Protocol, Fields>> = {
  chat: {
    kept: [
      ...shared,
      'messages',
      'parallel_tool_calls',
      'max_tokens',
      'max_completion_tokens',
      'top_k',
      'stop',
      'seed',
      'reasoning_effort',
      'response_format',
      'stream_options',
      'n',
    ],
    idle: [...idle, 'prediction'],
    refused: ['logprobs', 'top_logprobs', 'logit_bias', 'audio', 'web_search_options', 'functions', 'function_call'],
  },
  messages: {
    kept: [
      ...shared,
      'messages',
      'system',
      'max_tokens',
      'top_k',
      'stop_sequences',
      'thinking',
      'output_config',
      'output_format',
    ],
    idle: [...idle, 'cache_control', 'inference_geo'],
    refused: ['container', 'mcp_servers', 'context_management'],
  },
  responses: {
    kept: [
      ...shared,
      'input',
      'instructions',
      'parallel_tool_calls',
      'max_output_tokens',
      'reasoning',
      'text',
      'stream_options',
    ],
    idle: [...idle, 'include', 'truncation'],
    // State that a provider keeps: only a lane of this protocol can go on from it.
    refused: ['previous_response_id', 'conversation', 'prompt', 'background'],
  },
};

const why: Readonly<Record<Protocol, string>> = {
  chat: 'no lane of another protocol has it',
  messages: 'no lane of another protocol has it',
  responses: 'the provider would have to keep it; send the whole conversation as input',
};

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** Fields of a request that no other protocol says. Throws `Untranslatable` for one that cannot be left out. */
export function droppedOf(protocol: Protocol, body: Value): string[] {
  const { kept, idle: still, refused } = fields[protocol];
  for (const field of refused) {
    if (isSet(body[field]) && body[field] !== 'auto' && !isEmptyList(body[field]))
      throw new Untranslatable(field, why[protocol]);
  }
  const known = new Set([...kept, ...still, ...refused]);
  return Object.keys(body).filter((name) => isSet(body[name]) && body[name] !== 0 && !known.has(name));
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
