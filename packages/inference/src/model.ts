import { isObject, parsed, type Source, type Value } from './values.ts';

/** A place that text refers to. */
export interface Citation {
  url?: string;
  title?: string;
  /** The quoted text. */
  quote?: string;
  /** Characters of the text that refer to it. */
  start?: number;
  end?: number;
  /** As messages said it: of its kinds no other protocol has more than the fields above. */
  asMessages?: Value;
}

/** A part of what was said, in no protocol's own words. */
export type Block =
  | { type: 'text'; text: string; citations?: Citation[] }
  /** `signature`: what the provider wants back with it, which only it can read. */
  | { type: 'thinking'; text: string; signature?: string }
  /** Thinking that only its provider can read. */
  | { type: 'redacted'; data: string }
  | { type: 'refusal'; text: string }
  | { type: 'image'; source: Source; detail?: string }
  | { type: 'document'; source: Source; name?: string }
  | { type: 'audio'; data: string; format: string }
  /** A call of a tool; `input` is JSON text. */
  | { type: 'call'; id: string; name: string; input: string }
  | { type: 'result'; id: string; content: Block[]; isError?: boolean };

/** One turn. Results of tools are the user's; `system` has instructions from there on. */
export interface Message {
  role: 'user' | 'assistant' | 'system';
  blocks: Block[];
}

/** A function that the model may call. */
export interface Tool {
  name: string;
  description?: string;
  /** JSON Schema of its input. */
  schema: unknown;
  strict?: boolean;
}

/** How hard a model thinks, weakest first. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export type Effort = (typeof efforts)[number];

/** A client's request to a model, in no protocol's own words. */
export interface Conversation {
  /** The system prompt, before the first turn. */
  system: string;
  messages: Message[];
  tools: Tool[];
  choice?: 'auto' | 'none' | 'required' | { name: string };
  /** False: one call of a tool at a time. */
  parallel?: boolean;
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string[];
  seed?: number;
  effort?: Effort;
  /** Tokens of thinking, where a client counts them. */
  thinkingTokens?: number;
  format?: { type: 'json' } | { type: 'schema'; name: string; schema: unknown; strict?: boolean };
  user?: string;
  /** Chat completions only: the server gave out thinking, and takes it back. Others refuse the field. */
  sendsThinking?: boolean;
  stream: boolean;
}

/** Tokens that a request took. `input` counts those that were cached and those that were written to the cache. */
export interface Usage {
  input: number;
  output: number;
  cached: number;
  cacheWritten: number;
  /** Of what was written to the cache: what stays there for an hour, which has a price of its own. */
  cacheWrittenHour?: number;
  /** Of the output: thinking. */
  reasoning: number;
  /** Searches that the provider made. */
  searches?: number;
  /** Of input that was not cached, and of the output: sound, which has a price of its own. */
  audioInput?: number;
  audioOutput?: number;
}

/** Why a model stopped. */
export type Finish = 'stop' | 'length' | 'calls' | 'refusal';

/** Whether the input of a call is whole: an object as JSON. */
export const isWholeInput = (input: string): boolean => isObject(parsed(input));

/** Whether an answer ended in the middle: a last call that has no input is the begin of one, and none. */
export const isCut = (finish: Finish | undefined): boolean => finish === 'length' || finish === 'refusal';

/** A whole answer. */
export interface Reply {
  id: string;
  model: string;
  blocks: Block[];
  finish: Finish;
  /** The stop sequence that ended it. */
  stopSequence?: string;
  usage?: Usage;
  /** Fields of ours: of a message of chat completions, of a whole answer of messages. */
  extra?: Value;
}

/** The start of a block in a stream. */
export type Opening =
  | { type: 'text' | 'thinking' | 'refusal' }
  | { type: 'call'; id: string; name: string }
  | { type: 'redacted'; data: string }
  /** A block that no other protocol has a word for. */
  | { type: 'other' };

/** A step of a streamed answer. `index` counts blocks; blocks may be open side by side. */
export type Event =
  | { type: 'start'; id: string; model: string }
  /** `again`: it is this earlier block once more, whole, and takes its place; a fraction is behind that. */
  | { type: 'open'; index: number; block: Opening; again?: number }
  /** More of a block's text or, of a call, of its input. */
  | { type: 'delta'; index: number; text: string }
  | { type: 'signature'; index: number; signature: string }
  | { type: 'citation'; index: number; citation: Citation }
  | { type: 'close'; index: number }
  | { type: 'usage'; usage: Usage }
  /** `extra`: fields of ours on the frame that tells it. */
  | { type: 'finish'; finish: Finish; stopSequence?: string; extra?: Value }
  /** The last word of a whole answer. */
  | { type: 'end' }
  /** The last word of one that failed. */
  | { type: 'error'; message: string; kind?: string };

/** No tokens. */
export const noUsage: Usage = { input: 0, output: 0, cached: 0, cacheWritten: 0, reasoning: 0 };

const budgets: readonly [Effort, number][] = [
  ['low', 1_024],
  ['medium', 4_096],
  ['high', 16_384],
  ['xhigh', 32_768],
];

/** Tokens of thinking that stand for an effort. */
export const tokensOf = (effort: Effort): number => budgets.find(([name]) => name === effort)?.[1] ?? 1_024;

/** The effort that a number of tokens stands for. */
export const effortOf = (tokens: number): Effort => budgets.findLast(([, least]) => tokens >= least)?.[0] ?? 'low';

/** Text of all text blocks. */
export const plainText = (blocks: readonly Block[]): string =>
  blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
