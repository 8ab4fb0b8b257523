import { objectOf, objectsOf, textOf, wires, writeFor } from '@svc/inference';
import { systemClock } from '../../kernel/base/clock.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import type { ProvidersPlace } from '../../kernel/outside/providers.ts';
import { createUpstream, type Upstream } from '../../kernel/outside/upstream.ts';
import { type Lane, type LaneModel, readRegistry } from '../providers/index.ts';
import { askLane, headersFor, LaneFailure, readAnswer } from './inference.attempt.ts';
import { reshaped, targetOf } from './inference.exchange.ts';
import { Timers } from './inference.timers.ts';

/** Servers of models that speak OpenAI's protocol on a machine of one's own, and where they listen. */
export const localKinds: Readonly<Record<string, string>> = {
  ollama: 'http://127.0.0.1:11434/v1',
  lmstudio: 'http://127.0.0.1:1234/v1',
  llamacpp: 'http://127.0.0.1:8080/v1',
  vllm: 'http://127.0.0.1:8000/v1',
};
/** Kinds of providers that a command can add. */
export const providerKinds = ['openai', 'anthropic', 'responses', ...Object.keys(localKinds)];
const probeMs = 2_000;

/** Every lane, and the names under which it is asked. */
export function listProviders(place: ProvidersPlace): object[] {
  const { lanes, aliases } = readRegistry(place);
  return lanes.map(({ id, protocol, baseUrl, models, key, priceOf }) => ({
    id,
    protocol,
    base_url: baseUrl,
    key: key.isNone ? 'none' : (key.fault ?? 'set'),
    models: models.map(({ name, as }) => (name === as ? name : `${name} (${as})`)).join(', '),
    aliases: [...aliases]
      .flatMap(([alias, entries]) =>
        entries.flatMap(({ lane, model }, at) =>
          lane === id ? [`${alias} (${at + 1}${model === undefined ? '' : `: ${model}`})`] : [],
        ),
      )
      .join(', '),
    unpriced: unpriced(models, priceOf),
  }));
}

/** Models without a price, of which a key with a spend cap is refused. */
const unpriced = (models: readonly LaneModel[], priceOf: Lane['priceOf']): string =>
  models.flatMap(({ as }) => (priceOf(as) === undefined ? [as] : [])).join(', ');

/** Asks the first model of every lane for a word; tells which one answers, and in how many milliseconds. */
export async function checkProviders(place: ProvidersPlace): Promise<{ ok: boolean; lanes: object[] }> {
  const { lanes } = readRegistry(place);
  if (lanes.length === 0) throw new CommandError('no model provider is set up; add one with: ./svc providers add');
  const upstream = createUpstream();
  try {
    const rows = await Promise.all(lanes.map((lane) => checkLane(upstream, lane)));
    return { ok: rows.every(({ ok }) => ok), lanes: rows };
  } finally {
    await upstream.close();
  }
}

async function checkLane(upstream: Upstream, lane: Lane) {
  const [model] = lane.models;
  if (!model) return { lane: lane.id, ok: false, found: 'it lists no models' };
  const first = isLikelyVectors(model.as) ? 'vectors' : 'chat';
  const trial = await tryModel(upstream, lane, model.as, first);
  const ok = trial.ok ? trial : await tryModel(upstream, lane, model.as, first === 'chat' ? 'vectors' : 'chat');
  const { found } = ok.ok ? ok : trial;
  return { lane: lane.id, ok: ok.ok, found, unpriced: unpriced(lane.models, (name) => lane.priceOf(name)) };
}

/** Servers of models that listen on this machine, with the command that adds each. */
export async function findLocalProviders(): Promise<object[]> {
  const found = await Promise.all(
    Object.entries(localKinds).map(async ([kind, url]) => ({ kind, url, models: await modelsOf(`${url}/models`, {}) })),
  );
  return found.flatMap(({ kind, url, models }) =>
    models ? [{ kind, url, models: models.join(', '), add: `./svc providers add ${kind}` }] : [],
  );
}

/** The models that a server lists; undefined when it does not answer as a server of models. */
export async function modelsOf(url: string, headers: Record<string, string>): Promise<string[] | undefined> {
  try {
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(probeMs), redirect: 'error' });
    const body: unknown = await answer.json();
    if (!answer.ok || !Array.isArray(objectOf(body)['data'])) return undefined;
    return objectsOf(objectOf(body)['data']).flatMap(({ id }) => textOf(id) ?? []);
  } catch {
    return undefined;
  }
}

/** A model may have to be loaded first. */
const trialMs = 120_000;
const mostTrials = 20;
const asked = 'Answer with the word ok.';

/** The kind of a model's answer: a chat, or vectors. */
type Use = 'chat' | 'vectors';

/** The result of a trial. */
interface Trial {
  ok: boolean;
  /** In words: what answered, or why not. */
  found: string;
}

/** Asks a model for a word, or for the vector of one. */
async function tryModel(upstream: Upstream, lane: Lane, model: string, use: Use): Promise<Trial> {
  const timers = new Timers(systemClock, { ...lane, totalMs: trialMs }, new AbortController().signal, false);
  const began = systemClock.monotonic();
  const took = (): string => `${Math.round(systemClock.monotonic() - began)} ms`;
  const wire = wires[lane.protocol];
  const isVectors = use === 'vectors';
  try {
    const request = {
      path: isVectors ? '/embeddings' : wire.path,
      headers: await headersFor(lane, false, {}),
      body: reshaped(JSON.stringify(isVectors ? { model, input: asked } : chatOf(lane, model)), { lane, model }).sent,
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
const isLikelyVectors = (model: string): boolean => /embed|(?:^|[-/])(?:bge|gte|e5)(?:-|$)|minilm/i.test(model);

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
