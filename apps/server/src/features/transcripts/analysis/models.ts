import { randomBytes } from 'node:crypto';
import { plainText, translate } from '@svc/inference';
import type { ChatMessage } from '@svc/insights';
import type { Actor } from '../../../kernel/base/actor.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type Inference, targetOf } from '../../inference/index.ts';

/** On whose behalf a model is asked, and which request its cost belongs to. */
type ModelAsker = Parameters<Inference['inTurns']>[0];

/** The asker of work that goes on after its request: the key that asked for it, as it is now. */
export const askerOf = (
  { clock }: Pick<Kernel, 'clock'>,
  actor: Actor,
  { traceId, operationId, signal }: { traceId: string; operationId: string; signal: AbortSignal },
): ModelAsker => ({
  actor,
  traceId,
  signal,
  headers: {},
  deviceId: undefined,
  operationId,
  startedAt: clock.monotonic(),
});

/** A line that no text of a recording can hold: it is new each time. */
export const newBoundary = (): string => `recording-${randomBytes(16).toString('hex')}`;

const mostRepeated = 8_000;

/** One answer of a model and what it cost. */
interface Said<T> {
  value: T;
  /** The lane that answered. */
  model: string;
  costMicroUsd: number;
}

/**
 * Asks a model, and once more with what was wrong when its answer cannot be read. Throws 502 when no provider answers or none
 * gives an answer that can be read; what it cost is recorded in any case.
 */
export async function askModel<T extends object>(
  inference: Inference,
  asker: ModelAsker,
  { model, messages, mostTokens }: { model: string; messages: readonly ChatMessage[]; mostTokens: number },
  read: (answer: string) => Promise<T | { wrong: string }> | T | { wrong: string },
): Promise<Said<T>> {
  const body = { model, messages: [...messages], max_tokens: mostTokens, stream: true };
  const found: Said<T>[] = [];
  await inference.inTurns(asker, body, inference.choicesFor(asker, model), async (askTurn, bill) => {
    let wrong = '';
    let asked: readonly ChatMessage[] = messages;
    for (let tries = 0; tries < 2 && found.length === 0; tries += 1) {
      const turn = { ...body, messages: asked };
      const { reply, lane } = await askTurn({
        protocol: 'chat',
        bytes: Buffer.byteLength(JSON.stringify(asked)),
        isLive: false,
        bodyFor: (choice) => JSON.stringify(translate('chat', turn, targetOf(choice)).body),
        hear: () => Promise.resolve(),
      });
      const answer = plainText(reply.blocks);
      const value = await read(answer);
      if (!('wrong' in value)) found.push({ value, model: lane.id, costMicroUsd: bill()?.cost ?? 0 });
      else {
        ({ wrong } = value);
        asked = [
          ...messages,
          { role: 'assistant', content: answer === '' ? '(nothing)' : answer.slice(0, mostRepeated).toWellFormed() },
          { role: 'user', content: `That was no valid answer: ${wrong}. Answer with the JSON object alone.` },
        ];
      }
    }
    if (found.length === 0)
      throw new ApiError('upstream_error', `${model} gave no answer that can be used in two tries: ${wrong}`);
    return { status: 200, sent: 0 };
  });
  return found[0] as Said<T>;
}
