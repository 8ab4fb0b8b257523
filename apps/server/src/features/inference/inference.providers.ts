import { readFileSync } from 'node:fs';
import type { Protocol } from '@svc/inference';
import { wordsFor } from '@svc/contract';
import { z } from 'zod';
import { environmentValue } from '../../config.ts';

/** Protocols of lanes by the `kind` that the file gives them, and where each is without a `base_url`. */
const kinds: Readonly<Record<string, { protocol: Protocol; baseUrl: string }>> = {
  openai: { protocol: 'chat', baseUrl: 'https://api.openai.com/v1' },
  anthropic: { protocol: 'messages', baseUrl: 'https://api.anthropic.com' },
  responses: { protocol: 'responses', baseUrl: 'https://api.openai.com/v1' },
};
export const laneKinds = Object.keys(kinds) as [string, ...string[]];

const name = z.string().min(1).max(120);
/** USD for a million tokens. */
const price = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative().default(0),
  cached_input: z.number().nonnegative().optional(),
  cache_write: z.number().nonnegative().optional(),
  audio_input: z.number().nonnegative().optional(),
  audio_output: z.number().nonnegative().optional(),
});
const seconds = z.number().positive().max(3_600);

/** A lane of the providers file (design: inference, Providers file). Times are in seconds. */
const lane = z.strictObject({
  id: name,
  kind: z.enum(laneKinds),
  label: z.string().optional(),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  api_key_env: name.optional(),
  api_key_file: name.optional(),
  models: z.array(z.union([name, z.strictObject({ name, as: name })])).default([]),
  priority: z.int().default(0),
  max_output_tokens: z.int().positive().optional(),
  connect_s: seconds.default(5),
  first_content_s: seconds.default(60),
  idle_s: seconds.default(60),
  total_s: seconds.default(900),
  prices: z.record(name, price).default({}),
});

/** What a model costs, in USD for a million tokens. */
export interface Price {
  input: number;
  output: number;
  cachedInput: number;
  cacheWrite: number;
  audioInput: number;
  audioOutput: number;
}

/** A model of a lane: the name that clients use, and the one that the lane wants. */
export interface LaneModel {
  name: string;
  as: string;
}

/** One way to a model. */
export interface Lane {
  id: string;
  protocol: Protocol;
  /** Without a slash at its end. */
  baseUrl: string;
  /** Undefined: the lane wants none. */
  apiKey: string | undefined;
  models: LaneModel[];
  priority: number;
  maxOutputTokens: number | undefined;
  connectMs: number;
  firstContentMs: number;
  idleMs: number;
  totalMs: number;
  prices: ReadonlyMap<string, Price>;
}

/** What the file says of models. */
export interface Registry {
  lanes: Lane[];
  /** Ids of lanes by alias, in the order in which they are tried. */
  aliases: ReadonlyMap<string, string[]>;
}

const file = z.looseObject({
  lanes: z.array(lane).default([]),
  aliases: z.record(name, z.array(name)).default({}),
});

/** Reads lanes and aliases of a providers file; throws with its first fault. */
export function parseRegistry(text: string): Registry {
  const parsed = file.safeParse(JSON.parse(text), { error: wordsFor });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
  }
  const lanes = parsed.data.lanes.map(toLane);
  const ids = new Set(lanes.map(({ id }) => id));
  if (ids.size < lanes.length) throw new Error('lanes: two have the same id');
  const aliases = new Map(Object.entries(parsed.data.aliases));
  for (const [alias, named] of aliases) {
    const unknown = named.find((id) => !ids.has(id));
    if (unknown !== undefined) throw new Error(`aliases.${alias}: no lane has the id ${unknown}`);
  }
  return { lanes, aliases };
}

function toLane(given: z.output<typeof lane>): Lane {
  const kind = kinds[given.kind] as (typeof kinds)[string];
  return {
    id: given.id,
    protocol: kind.protocol,
    baseUrl: (given.base_url ?? kind.baseUrl).replace(/\/+$/, ''),
    apiKey: apiKeyOf(given),
    models: given.models.map((model) => (typeof model === 'string' ? { name: model, as: model } : model)),
    priority: given.priority,
    maxOutputTokens: given.max_output_tokens,
    connectMs: given.connect_s * 1000,
    firstContentMs: given.first_content_s * 1000,
    idleMs: given.idle_s * 1000,
    totalMs: given.total_s * 1000,
    prices: new Map(
      Object.entries(given.prices).map(([model, { input, output, ...other }]) => [
        model,
        {
          input,
          output,
          cachedInput: other.cached_input ?? input,
          cacheWrite: other.cache_write ?? input,
          audioInput: other.audio_input ?? input,
          audioOutput: other.audio_output ?? output,
        },
      ]),
    ),
  };
}

function apiKeyOf({ id, api_key_env: env, api_key_file: path }: z.output<typeof lane>): string | undefined {
  if (path !== undefined) {
    try {
      return readFileSync(path, 'utf8').trim();
    } catch (error) {
      throw new Error(`lane ${id}: api_key_file: ${(error as NodeJS.ErrnoException).code ?? 'cannot be read'}`, {
        cause: error,
      });
    }
  }
  if (env === undefined) return undefined;
  const value = environmentValue(env);
  if (!value) throw new Error(`lane ${id}: the environment has no ${env}`);
  return value;
}
