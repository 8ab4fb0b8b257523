import { textOf, wires, writeFor } from '@svc/inference';
import { systemClock } from '../../kernel/clock.ts';
import type { Upstream } from '../../kernel/upstream.ts';
import { askLane, headersFor, LaneFailure, readAnswer } from './inference.attempt.ts';
import { targetOf } from './inference.exchange.ts';
import type { Lane } from './inference.providers.ts';
import { Timers } from './inference.timers.ts';

/** A model may have to be loaded first. */
const trialMs = 120_000;
const mostTrials = 20;
const asked = 'Answer with the word ok.';

/** What a model answers: a chat, or vectors. */
export type Use = 'chat' | 'vectors';

/** What came of a trial. */
export interface Trial {
  ok: boolean;
  /** In words: what answered, or why not. */
  found: string;
}

/** Asks a model for a word, or for the vector of one. */
export async function tryModel(upstream: Upstream, lane: Lane, model: string, use: Use): Promise<Trial> {
  const timers = new Timers(systemClock, { ...lane, totalMs: trialMs }, new AbortController().signal, false);
  const began = systemClock.monotonic();
  const took = (): string => `${Math.round(systemClock.monotonic() - began)} ms`;
  const wire = wires[lane.protocol];
  const isVectors = use === 'vectors';
  try {
    const request = {
      path: isVectors ? '/embeddings' : wire.path,
      headers: await headersFor(lane, false, {}),
      body: JSON.stringify(isVectors ? { model, input: asked } : chatOf(lane, model)),
    };
    const answer = await askLane(upstream, lane, request, timers);
    const { body: said } = await readAnswer(answer, timers, isVectors ? 'data' : wire.list);
    return { ok: true, found: `${textOf(said['model']) ?? model} answers in ${took()}` };
  } catch (error) {
    const reason = (error as Error).message;
    const why = error instanceof LaneFailure ? reason : `refused: ${reason}`;
    return { ok: false, found: `${model}: ${why}, after ${took()}` };
  } finally {
    timers.end();
  }
}

function chatOf(lane: Lane, model: string): object {
  const messages = [{ role: 'user' as const, blocks: [{ type: 'text' as const, text: asked }] }];
  const conversation = { system: '', messages, tools: [], maxTokens: 64, stream: false };
  return writeFor('chat', conversation, targetOf({ lane, model })).body;
}

/** The names of most models that make vectors: those without one of these are tried as chats alone. */
export const isLikelyVectors = (model: string): boolean => /embed|(?:^|[-/])(?:bge|gte|e5)(?:-|$)|minilm/i.test(model);

/** Which of a lane's models answers a chat, and which makes vectors: the first of each, by trying. */
export async function findUses(
  upstream: Upstream,
  lane: Lane,
): Promise<{ chat: string | undefined; vectors: string | undefined; why: string }> {
  let [chat, vectors]: (string | undefined)[] = [];
  let why = '';
  const canEmbed = lane.protocol !== 'messages';
  // Those that look like it first: a chat model may make vectors too, and loading it takes time.
  const models = lane.models
    .map(({ as }) => as)
    .sort((a, b) => Number(isLikelyVectors(a)) - Number(isLikelyVectors(b)));
  for (const model of models.slice(0, mostTrials)) {
    if (chat !== undefined && (vectors !== undefined || !canEmbed || !isLikelyVectors(model))) continue;
    const first = chat === undefined ? await tryModel(upstream, lane, model, 'chat') : undefined;
    if (first?.ok) chat = model;
    else if (canEmbed && vectors === undefined) {
      const { ok } = await tryModel(upstream, lane, model, 'vectors');
      if (ok) vectors = model;
    }
    if (first && !first.ok) why ||= first.found;
  }
  return { chat, vectors, why };
}
