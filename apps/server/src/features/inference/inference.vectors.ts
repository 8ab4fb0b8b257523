import { isObject, readChatUsage } from '@svc/inference';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Choice } from '../providers/index.ts';
import { askLane, headersFor, LaneFailure, readAnswer } from './inference.attempt.ts';
import { reshaped } from './inference.exchange.ts';
import type { Failover } from './inference.failover.ts';
import type { Asker, Meter } from './inference.meter.ts';

/** Vectors of texts, in their order, and the model that made them: those of another one cannot be compared. */
export interface Vectors {
  readonly vectors: readonly Float32Array[];
  readonly model: string;
}

interface Parts {
  readonly kernel: Kernel;
  readonly failover: Failover;
  readonly meter: Meter;
}

const mostDimensions = 16_000;
const faultyMs = 5_000;

/** Asks lanes for vectors of texts, for a feature; its cost is recorded as that of any request. */
export async function askVectors(
  { kernel, failover, meter }: Parts,
  asker: Asker,
  choices: readonly Choice[],
  texts: readonly string[],
): Promise<Vectors> {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const bill = await meter.open(asker, choices, () => ({ input: bytes, output: 0 }));
  const way = { routeOf: () => '/embeddings', isStreamed: false };
  try {
    return await failover.run(asker, choices, way, async (choice, timers) => {
      const { lane, model } = choice;
      const headers = await headersFor(lane, true, {});
      const body = Buffer.from(JSON.stringify({ model, input: texts, encoding_format: 'float' }));
      const request = { path: '/embeddings', headers, body: reshaped(body, choice).sent };
      const { body: said } = await readAnswer(await askLane(kernel.upstream, lane, request, timers), timers, 'data');
      timers.stop();
      const vectors = vectorsOf(said['data'], texts.length);
      await bill.close(choice, readChatUsage(said['usage']), { status: 200, guess: { bytes, letters: 0 } });
      return { vectors, model };
    });
  } catch (error) {
    await bill.close(undefined, undefined, { status: error instanceof ApiError ? error.status : 499 });
    throw error;
  }
}

/** Throws `LaneFailure` for an answer that lacks a vector, or has some of different lengths. */
function vectorsOf(data: unknown, count: number): Float32Array[] {
  const found: Float32Array[] = [];
  for (const [place, one] of (Array.isArray(data) ? (data as unknown[]) : []).entries()) {
    const { index = place, embedding } = isObject(one) ? (one as { index?: unknown; embedding?: unknown }) : {};
    const isVector = Array.isArray(embedding) && embedding.length > 0 && embedding.length <= mostDimensions;
    if (typeof index === 'number' && index >= 0 && index < count && isVector)
      found[index] = Float32Array.from(embedding as number[]);
  }
  const isWhole =
    found.length === count && found.every((one) => one.length === found[0]?.length && one.every(Number.isFinite));
  if (!isWhole || Object.keys(found).length !== count)
    throw new LaneFailure('its vectors are not one for each text', faultyMs);
  return found;
}
