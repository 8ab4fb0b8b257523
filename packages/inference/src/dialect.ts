import type { Protocol } from './protocol.ts';

/** Features of a protocol that a model takes: models of one protocol differ, and refuse with 400 what they do not take. */
export interface Dialect {
  /**
   * How it thinks. `budget`: so many tokens as it is given; `adaptive`: as hard as it is told; `always`: the same, and it
   * cannot be told not to; `none`: it does not.
   */
  thinking: 'budget' | 'adaptive' | 'always' | 'none';
  /** It thinks unless it is told not to. */
  thinksUnasked: boolean;
  /** The most that it may be told of how hard to think. */
  topEffort: 'high' | 'xhigh';
  /** It takes temperature, top_p and top_k. */
  sampling: boolean;
  /** It takes temperature and top_p together. */
  bothSamplings: boolean;
  topK: boolean;
  stop: boolean;
  /** Names of the limit of an answer's tokens, in chat completions. */
  limit: 'max_tokens' | 'max_completion_tokens' | 'both';
  /** A request may name the tool that is to be called. */
  forcedTools: boolean;
  /** It takes instructions among the turns; undefined: nobody knows, and chat completions have them there. */
  systemTurns?: boolean;
  /** Whose signatures its calls must have in each later turn, in chat completions. */
  signatures?: 'google';
}

/** How a request is written. */
export interface WriteOptions {
  /** The model's dialect; undefined: by its name. */
  dialect?: Dialect;
  /** Stands in where a client says none and the protocol wants it. */
  maxTokens?: number;
}

/** Of a model that nobody knows. */
const plain: Dialect = {
  thinking: 'budget',
  thinksUnasked: false,
  topEffort: 'xhigh',
  sampling: true,
  bothSamplings: true,
  topK: true,
  stop: true,
  limit: 'max_tokens',
  forcedTools: true,
};

const openai: Partial<Dialect> = { topK: false, limit: 'max_completion_tokens' };
const adaptive: Partial<Dialect> = { thinking: 'adaptive', sampling: false, bothSamplings: false, systemTurns: true };
const older: Partial<Dialect> = { systemTurns: false };

/** By the beginning of a model's name, the first that fits: what its maker's documentation said in October 2026. */
const known: Readonly<Record<'claude' | 'openai', readonly (readonly [RegExp, Partial<Dialect>])[]>> = {
  claude: [
    [/^claude-(?:3-5|3-haiku|3-opus|3-sonnet|2)/, { ...older, thinking: 'none' }],
    [/^claude-3-7|^claude-(?:opus|sonnet)-4-0|^claude-(?:opus|sonnet)-4(?:[-@]20|$)/, { ...older, thinking: 'budget' }],
    [/^claude-opus-4-1|^claude-(?:opus|sonnet|haiku)-4-5/, { ...older, thinking: 'budget', bothSamplings: false }],
    [/^claude-(?:opus|sonnet)-4-6/, { ...older, thinking: 'adaptive', topEffort: 'high', bothSamplings: false }],
    [/^claude-opus-4-7/, { ...adaptive, ...older }],
    [/^claude-opus-4-8/, adaptive],
    [/^claude-(?:opus-5-5|fable|mythos)/, { ...adaptive, thinking: 'always', forcedTools: false }],
    [/^claude-/, { ...adaptive, thinksUnasked: true }],
  ],
  openai: [
    [/^(?:gpt-[34]|chatgpt-|gpt-5-chat)/, { ...openai, thinking: 'none' }],
    [/^(?:o\d|gpt-)/, { ...openai, sampling: false, stop: false }],
    [/^gemini-(?![12])/, { signatures: 'google' }],
    // Templates of open models take a system message at the beginning alone, or none but that.
    [
      /^(?:qw[eq]|gemma|codegemma|[a-z]*stral|mixtral|llama|codellama|phi|granite|yi-|smollm|command|olmo|falcon)/i,
      older,
    ],
  ],
};

/** The dialect of a model of a protocol, by its name. */
export function dialectOf(protocol: Protocol, model: string): Dialect {
  const rows = protocol === 'messages' ? known.claude : known.openai;
  // Resellers put the maker before the name.
  const name = model.slice(model.lastIndexOf('/') + 1).replace(/^anthropic\./, '');
  return { ...plain, ...rows.find(([pattern]) => pattern.test(name))?.[1] };
}
