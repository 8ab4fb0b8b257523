import { wordsFor } from '@svc/contract';
import { type Dialect, dialectOf, type Protocol, type Reshaping } from '@svc/inference';
import { z } from 'zod';
import { type Clock, systemClock } from '../../kernel/base/clock.ts';
import { laneDialect, modelDialect, toDialect, toReshaping, toWire, type Wire } from './providers.dialect.ts';
import { freePrice, type Price, PriceList, priceRow, toPrice } from './providers.prices.ts';
import { LaneKey } from './providers.secrets.ts';

/** Protocols of lanes by the `kind` that the file gives them, and where each is without a `base_url`. */
const kinds: Readonly<Record<string, { protocol: Protocol; baseUrl: string }>> = {
  openai: { protocol: 'chat', baseUrl: 'https://api.openai.com/v1' },
  anthropic: { protocol: 'messages', baseUrl: 'https://api.anthropic.com' },
  responses: { protocol: 'responses', baseUrl: 'https://api.openai.com/v1' },
};
const laneKinds = Object.keys(kinds) as [string, ...string[]];

const name = z.string().min(1).max(120);
const seconds = z.number().positive().max(3_600);

/** A lane of the providers file (design: inference, Providers file). Times are in seconds. */
const lane = z.strictObject({
  id: name,
  kind: z.enum(laneKinds),
  label: z.string().optional(),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  api_key_env: name.optional(),
  api_key_file: z.string().min(1).max(4_096).optional(),
  token_command: z.array(z.string().max(4_096)).min(1).max(64).optional(),
  token_s: seconds.default(1_800),
  models: z.array(z.union([name, z.strictObject({ name, as: name })])).default([]),
  priority: z.int().default(0),
  max_output_tokens: z.int().positive().optional(),
  connect_s: seconds.default(5),
  first_content_s: seconds.default(300),
  idle_s: seconds.default(60),
  total_s: seconds.default(900),
  free: z.boolean().default(false),
  forbid: z.array(name).default([]),
  on_context: z.string().min(1).max(250).optional(),
  on_refusal: z.string().min(1).max(250).optional(),
  allow: z.array(z.enum(['background', 'stored'])).default([]),
  dialect: laneDialect.optional(),
  dialects: z.record(name, modelDialect).default({}),
  prices: z.record(name, priceRow).default({}),
});

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
  key: LaneKey;
  models: LaneModel[];
  priority: number;
  maxOutputTokens: number | undefined;
  connectMs: number;
  firstContentMs: number;
  idleMs: number;
  totalMs: number;
  /** Where a request goes that is too long for it, or that its provider refuses for its content: a lane or an alias. */
  onContext: string | undefined;
  onRefusal: string | undefined;
  /** Fields of a request that it must not get. */
  forbid: readonly string[];
  /** Uses that run or keep data at its provider, and are allowed all the same. */
  allow: readonly ('background' | 'stored')[];
  /** The dialect of a model of it, by the lane's name of it. */
  dialectOf: (model: string) => Dialect;
  /** Fields of a request to a model of it that go by another name, or not at all; undefined for none. */
  reshapingOf: (model: string) => Reshaping | undefined;
  /** How its requests are sent. */
  wire: Wire;
  /** The file says which name of the limit its models know. */
  namesLimit: boolean;
  /** The price of a model of it, by the lane's name of it; undefined when unknown. */
  priceOf: (model: string) => Price | undefined;
}

/** A lane, and the name that it wants for the model at hand. */
export interface Choice {
  lane: Lane;
  /** The lane's own name of the model. */
  model: string;
  /** Asked only when this lane says that a request is too long for it, or refuses its content. */
  after?: { lane: string; reason: 'context' | 'content' };
}

/** A lane that an alias leads to, and which of its models, where the alias says so. */
export interface AliasEntry {
  lane: string;
  model: string | undefined;
}

/** The models of the file. */
export interface Registry {
  lanes: Lane[];
  /** Where each alias leads, in the order in which it is tried. */
  aliases: ReadonlyMap<string, AliasEntry[]>;
}

const file = z.looseObject({
  lanes: z.array(lane).default([]),
  aliases: z.record(name, z.array(z.string().min(1).max(250))).default({}),
});

/** The parts that reading a file needs: prices, and a clock. */
export interface RegistryParts {
  prices: PriceList;
  clock: Pick<Clock, 'monotonic' | 'now'>;
}
const noParts: RegistryParts = { prices: new PriceList([]), clock: systemClock };

/** Reads lanes and aliases of a providers file; throws with its first fault. */
export function parseRegistry(text: string, parts = noParts): Registry {
  const parsed = file.safeParse(JSON.parse(text), { error: wordsFor });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
  }
  const lanes = parsed.data.lanes.map((one) => toLane(one, parts));
  const ids = new Set(lanes.map(({ id }) => id));
  if (ids.size < lanes.length) throw new Error('lanes: two have the same id');
  const entries = Object.entries(parsed.data.aliases).map(
    ([alias, named]) => [alias, named.map((one) => entryOf(one, ids, `aliases.${alias}`))] as const,
  );
  const aliases = new Map(entries);
  for (const { id, onContext, onRefusal } of lanes) {
    for (const [field, next] of Object.entries({ on_context: onContext, on_refusal: onRefusal }))
      if (next !== undefined && !aliases.has(next)) entryOf(next, ids, `lane ${id}: ${field}`);
  }
  return { lanes, aliases };
}

/** `lane`, or `lane/model`. Throws, with the `place` where it stands, for no lane of the file. */
export function entryOf(text: string, ids: ReadonlySet<string>, place: string): AliasEntry {
  if (ids.has(text)) return { lane: text, model: undefined };
  const lane = [...ids].find((id) => text.startsWith(`${id}/`));
  if (lane === undefined) throw new Error(`${place}: no lane has the id ${text}`);
  return { lane, model: text.slice(lane.length + 1) };
}

function toLane(given: z.output<typeof lane>, { prices: book, clock }: RegistryParts): Lane {
  const kind = kinds[given.kind] as (typeof kinds)[string];
  const { id, api_key_env: env, api_key_file: path, token_command: command, token_s: tokenSeconds } = given;
  const own = new Map(Object.entries(given.prices).map(([model, row]) => [model, toPrice(row)]));
  return {
    id,
    protocol: kind.protocol,
    baseUrl: (given.base_url ?? kind.baseUrl).replace(/\/+$/, ''),
    key: new LaneKey({ env, file: path, command, commandMs: tokenSeconds * 1000 }, clock),
    models: given.models.map((model) => (typeof model === 'string' ? { name: model, as: model } : model)),
    priority: given.priority,
    maxOutputTokens: given.max_output_tokens,
    connectMs: given.connect_s * 1000,
    firstContentMs: given.first_content_s * 1000,
    idleMs: given.idle_s * 1000,
    totalMs: given.total_s * 1000,
    onContext: given.on_context,
    onRefusal: given.on_refusal,
    forbid: given.forbid,
    allow: given.allow,
    dialectOf: (model) => ({
      ...dialectOf(kind.protocol, model),
      ...toDialect(given.dialect),
      ...toDialect(given.dialects[model]),
    }),
    reshapingOf: (model) => toReshaping(given.dialect, given.dialects[model]),
    wire: toWire(given.dialect, kind.protocol === 'messages' ? 'x-api-key' : 'authorization', clock),
    namesLimit: given.dialect?.limit !== undefined,
    priceOf: (model) => own.get(model) ?? (given.free ? freePrice : book.of(model)),
  };
}
