import type { Usage } from '@svc/inference';
import type { Lane, Price } from './inference.providers.ts';

/** When these prices were published; a lane's own `prices` win. */
export const pricesAsOf = '2025-09-01';

/**
 * USD for a million tokens by the beginning of a model's name: input, output, cached input, written to the cache; then
 * input and output of sound, where they have a price of their own.
 */
type Row = readonly [number, number, number, number, number?, number?];
const published: Readonly<Record<string, Row>> = {
  'gpt-realtime-mini': [0.6, 2.4, 0.06, 0.6, 10, 20],
  'gpt-realtime': [4, 16, 0.4, 4, 32, 64],
  'gpt-5-nano': [0.05, 0.4, 0.005, 0.05],
  'gpt-5-mini': [0.25, 2, 0.025, 0.25],
  'gpt-5': [1.25, 10, 0.125, 1.25],
  'gpt-4.1-nano': [0.1, 0.4, 0.025, 0.1],
  'gpt-4.1-mini': [0.4, 1.6, 0.1, 0.4],
  'gpt-4.1': [2, 8, 0.5, 2],
  'gpt-4o-mini': [0.15, 0.6, 0.075, 0.15],
  'gpt-4o': [2.5, 10, 1.25, 2.5],
  'o4-mini': [1.1, 4.4, 0.275, 1.1],
  'o3-mini': [1.1, 4.4, 0.55, 1.1],
  o3: [2, 8, 0.5, 2],
  'claude-opus-4': [15, 75, 1.5, 18.75],
  'claude-sonnet-4': [3, 15, 0.3, 3.75],
  'claude-3-7-sonnet': [3, 15, 0.3, 3.75],
  'claude-3-5-sonnet': [3, 15, 0.3, 3.75],
  'claude-3-5-haiku': [0.8, 4, 0.08, 1],
  'text-embedding-3-small': [0.02, 0, 0.02, 0.02],
  'text-embedding-3-large': [0.13, 0, 0.13, 0.13],
};

/** What a model costs on a lane; undefined when nobody says. A name goes with the longest entry that it begins with. */
export function priceOf(lane: Lane, model: string): Price | undefined {
  const own = lane.prices.get(model);
  if (own) return own;
  const found = Object.keys(published)
    .filter((name) => model === name || model.startsWith(`${name}-`) || model.startsWith(`${name}@`))
    .sort((a, b) => b.length - a.length)[0];
  const row = found === undefined ? undefined : published[found];
  if (!row) return undefined;
  const [input, output, cachedInput, cacheWrite, audioInput = input, audioOutput = output] = row;
  return { input, output, cachedInput, cacheWrite, audioInput, audioOutput };
}

/** The cost of tokens in micro-USD, rounded to the next whole one. USD a million tokens are micro-USD a token. */
export function costOf(usage: Usage, price: Price | undefined): number {
  if (!price) return 0;
  const { audioInput = 0, audioOutput = 0 } = usage;
  const fresh = Math.max(0, usage.input - usage.cached - usage.cacheWritten - audioInput);
  return Math.ceil(
    fresh * price.input +
      audioInput * price.audioInput +
      usage.cached * price.cachedInput +
      usage.cacheWritten * price.cacheWrite +
      Math.max(0, usage.output - audioOutput) * price.output +
      audioOutput * price.audioOutput,
  );
}
