import { objectOf, objectsOf, textOf } from '@svc/inference';
import { CommandError } from '../../kernel/commands.ts';
import type { ProvidersPlace } from '../../kernel/providers.ts';
import { createUpstream, type Upstream } from '../../kernel/upstream.ts';
import { readRegistry } from './inference.lanes.ts';
import type { Lane, LaneModel } from './inference.providers.ts';
import { isLikelyVectors, tryModel } from './inference.trial.ts';

/** Servers of models that speak OpenAI's protocol on a machine of one's own, and where they listen. */
export const localKinds: Readonly<Record<string, string>> = {
  ollama: 'http://127.0.0.1:11434/v1',
  lmstudio: 'http://127.0.0.1:1234/v1',
  llamacpp: 'http://127.0.0.1:8080/v1',
  vllm: 'http://127.0.0.1:8000/v1',
};
/** What can be added, in the words of a command. */
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
    Object.entries(localKinds).map(async ([kind, url]) => ({ kind, url, models: await modelsOf(url, {}) })),
  );
  return found.flatMap(({ kind, url, models }) =>
    models ? [{ kind, url, models: models.join(', '), add: `./svc providers add ${kind}` }] : [],
  );
}

/** What a server lists; undefined when it does not answer as one of models. */
export async function modelsOf(url: string, headers: Record<string, string>): Promise<string[] | undefined> {
  try {
    const answer = await fetch(`${url}/models`, { headers, signal: AbortSignal.timeout(probeMs), redirect: 'error' });
    const body: unknown = await answer.json();
    if (!answer.ok || !Array.isArray(objectOf(body)['data'])) return undefined;
    return objectsOf(objectOf(body)['data']).flatMap(({ id }) => textOf(id) ?? []);
  } catch {
    return undefined;
  }
}

/** Lanes without a key now, and why. */
export const findLanesOff = (place: ProvidersPlace): { id: string; reason: string }[] =>
  readRegistry(place).lanes.flatMap(({ id, key: { fault: reason } }) => (reason === undefined ? [] : [{ id, reason }]));
