import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Usage } from '@svc/inference';
import { z } from 'zod';

const amount = z.number().nonnegative().max(1_000_000);
const count = z.int().positive();
const rates = {
  input: amount,
  output: amount.default(0),
  cached_input: amount.optional(),
  cache_write: amount.optional(),
  cache_write_1h: amount.optional(),
  audio_input: amount.optional(),
  audio_output: amount.optional(),
};
/** A model's price, in USD for a million tokens. */
export const priceRow = z.strictObject({
  ...rates,
  /** USD for a thousand searches at the provider. */
  searches: amount.optional(),
  /** Tokens that it reads at most. */
  context: count.optional(),
  /** Stands in once the input is over so many tokens. */
  long: z.strictObject({ over: count, ...rates }).optional(),
  /** The day on which its source was read. */
  as_of: z.iso.date().optional(),
});
const priceFile = z.object({
  as_of: z.iso.date(),
  about: z.string().optional(),
  models: z.record(z.string().min(1).max(120), priceRow),
});
export type PriceFile = z.output<typeof priceFile>;

/** Rates in USD for a million tokens, which are micro-USD a token. */
interface Rates {
  input: number;
  output: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWriteHour: number;
  audioInput: number;
  audioOutput: number;
}

/** The price of a model. */
export interface Price extends Rates {
  /** Micro-USD a search. */
  search: number;
  /** Tokens that it reads at most. */
  context: number;
  long: (Rates & { over: number }) | undefined;
}

/** USD that the makers of models ask for a thousand searches. */
const usualSearches = 10;
/** More than most models read. */
const usualContext = 1_000_000;

/** The price that a row says. */
export const toPrice = ({
  long,
  searches = usualSearches,
  context = usualContext,
  ...row
}: z.output<typeof priceRow>): Price => ({
  ...toRates(row),
  search: searches * 1_000,
  context,
  long: long && { ...toRates(long), over: long.over },
});

function toRates({ input, output, ...other }: Omit<z.output<typeof priceRow>, 'long'>): Rates {
  const cacheWrite = other.cache_write ?? input;
  return {
    input,
    output,
    cachedInput: other.cached_input ?? input,
    cacheWrite,
    cacheWriteHour: other.cache_write_1h ?? cacheWrite,
    audioInput: other.audio_input ?? input,
    audioOutput: other.audio_output ?? output,
  };
}

/** Of a lane that costs nothing. */
export const freePrice: Price = { ...toPrice({ input: 0, output: 0 }), search: 0 };

/** Where prices are that `svc providers prices` took over. */
export const pricesPath = (dataDir: string): string => join(dataDir, 'prices.json');

/** Reads a file of prices; throws with its first fault. */
export function parsePrices(text: string): PriceFile {
  const parsed = priceFile.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`prices: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
}

const published = new URL('providers.prices.json', import.meta.url);

/** The prices of this release, overridden by those of the data dir. A broken file in the data dir is reported. */
export class PriceList {
  readonly #models: ReadonlyMap<string, Price>;
  /** The newest day on which a file of prices was put together. */
  readonly asOf: string;

  constructor(files: readonly PriceFile[]) {
    const rows = files.flatMap(({ models }) => Object.entries(models));
    this.#models = new Map(rows.map(([name, row]) => [name, toPrice(row)]));
    this.asOf =
      files
        .map(({ as_of: at }) => at)
        .sort()
        .at(-1) ?? '';
  }

  /** Throws when a file cannot be used. */
  static read(dataDir: string): PriceList {
    const own = readIfThere(pricesPath(dataDir));
    return new PriceList([readFileSync(published, 'utf8'), ...(own === undefined ? [] : [own])].map(parsePrices));
  }

  /** The price of a model, by its name, or its name before the date of a version; undefined when unknown. */
  of(model: string): Price | undefined {
    return this.#models.get(model) ?? this.#models.get(model.replace(dated, ''));
  }
}

/** `-2026-04-14`, `-20260414`, `@20260414`. */
const dated = /[-@]20\d{2}-?[01]\d-?[0-3]\d$/;

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const ratesFor = (price: Price, input: number): Rates =>
  price.long !== undefined && input > price.long.over ? price.long : price;

/** The cost of tokens in micro-USD, rounded to the next whole one. */
export function costOf(usage: Usage, price: Price | undefined): number {
  if (!price) return 0;
  const { audioInput = 0, audioOutput = 0, cacheWrittenHour: asked = 0, searches = 0 } = usage;
  const rates = ratesFor(price, usage.input);
  const hour = Math.min(asked, usage.cacheWritten);
  const fresh = Math.max(0, usage.input - usage.cached - usage.cacheWritten - audioInput);
  return Math.ceil(
    fresh * rates.input +
      audioInput * rates.audioInput +
      usage.cached * rates.cachedInput +
      (usage.cacheWritten - hour) * rates.cacheWrite +
      hour * rates.cacheWriteHour +
      Math.max(0, usage.output - audioOutput) * rates.output +
      audioOutput * rates.audioOutput +
      searches * price.search,
  );
}

/** Tokens that a request takes at most. */
export interface Most {
  /** Undefined: as many as the model reads. */
  input: number | undefined;
  output: number;
  /** Uses of tools at the provider. */
  uses?: number;
  isSound?: boolean;
}

/** The most that a request may cost, in micro-USD: each token at the dearest rate that it may have. */
export function mostCostOf({ input, output, uses = 0, isSound = false }: Most, price: Price | undefined): number {
  if (!price) return 0;
  // Before and after each use of a tool all is read that a model reads.
  const read = uses > 0 ? price.context * (uses + 1) : Math.min(input ?? price.context, price.context);
  const cost = ({ audioInput, audioOutput, ...rates }: Rates): number =>
    read * Math.max(rates.input, rates.cacheWrite, rates.cacheWriteHour, isSound ? audioInput : 0) +
    output * Math.max(rates.output, isSound ? audioOutput : 0);
  return Math.ceil(Math.max(cost(price), cost(ratesFor(price, read))) + uses * price.search);
}
