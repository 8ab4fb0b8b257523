import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { objectOf, objectsOf, textOf, type Value, wires } from '@svc/inference';
import { systemClock } from '../../kernel/clock.ts';
import { CommandError } from '../../kernel/commands.ts';
import { type ProvidersPlace, providersPath } from '../../kernel/providers.ts';
import { createUpstream, type Upstream } from '../../kernel/upstream.ts';
import { askLane, headersFor, LaneFailure, readAnswer } from './inference.attempt.ts';
import { writeWhole } from './inference.files.ts';
import { readRegistry } from './inference.lanes.ts';
import { PriceBook } from './inference.prices.ts';
import { type Lane, type LaneModel, parseRegistry } from './inference.providers.ts';
import { Timers } from './inference.timers.ts';

/** Servers of models that speak OpenAI's protocol on a machine of one's own, and where they listen. */
const local: Readonly<Record<string, string>> = {
  ollama: 'http://127.0.0.1:11434/v1',
  lmstudio: 'http://127.0.0.1:1234/v1',
  llamacpp: 'http://127.0.0.1:8080/v1',
  vllm: 'http://127.0.0.1:8000/v1',
};
/** What can be added, in the words of a command. */
export const providerKinds = ['openai', 'anthropic', 'responses', ...Object.keys(local)];
const probeMs = 2_000;
const asked = 'Answer with the word ok.';

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
      .flatMap(([alias, entries]) => (entries.some(({ lane }) => lane === id) ? [alias] : []))
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
  const timers = new Timers(systemClock, lane, new AbortController().signal, false);
  const began = systemClock.monotonic();
  const took = (): string => `${Math.round(systemClock.monotonic() - began)} ms`;
  const isVectors = /embed/i.test(model.as);
  const conversation = {
    system: '',
    messages: [{ role: 'user' as const, blocks: [{ type: 'text' as const, text: asked }] }],
    tools: [],
    maxTokens: 64,
    stream: false,
  };
  const wire = wires[lane.protocol];
  const body = isVectors ? { model: model.as, input: asked } : wire.writeRequest(conversation, model.as);
  try {
    const request = {
      path: isVectors ? '/embeddings' : wire.path,
      headers: await headersFor(lane, false, {}),
      body: JSON.stringify(body),
    };
    const answer = await askLane(upstream, lane, request, timers);
    const { body: said } = await readAnswer(answer, timers, isVectors ? 'data' : wire.list);
    const found = `${textOf(said['model']) ?? model.as} answers in ${took()}`;
    return { lane: lane.id, ok: true, found, unpriced: unpriced(lane.models, (name) => lane.priceOf(name)) };
  } catch (error) {
    const reason = (error as Error).message;
    const isFault = error instanceof LaneFailure;
    return {
      lane: lane.id,
      ok: false,
      found: `${model.as}: ${isFault ? reason : `refused: ${reason}`}, after ${took()}`,
    };
  } finally {
    timers.end();
  }
}

/** Servers of models that listen on this machine, with the command that adds each. */
export async function findLocalProviders(): Promise<object[]> {
  const found = await Promise.all(
    Object.entries(local).map(async ([kind, url]) => ({ kind, url, models: await modelsOf(url, {}) })),
  );
  return found.flatMap(({ kind, url, models }) =>
    models ? [{ kind, url, models: models.join(', '), add: `./svc providers add ${kind}` }] : [],
  );
}

/** What a server lists; undefined when it does not answer as one of models. */
async function modelsOf(url: string, headers: Record<string, string>): Promise<string[] | undefined> {
  try {
    const answer = await fetch(`${url}/models`, { headers, signal: AbortSignal.timeout(probeMs), redirect: 'error' });
    const body: unknown = await answer.json();
    if (!answer.ok || !Array.isArray(objectOf(body)['data'])) return undefined;
    return objectsOf(objectOf(body)['data']).flatMap(({ id }) => textOf(id) ?? []);
  } catch {
    return undefined;
  }
}

/** What `svc providers add` is told. */
export interface NewProvider {
  id?: string;
  url?: string;
  keyEnv?: string;
  keyFile?: string;
  model?: string[];
}

/** Adds a lane to the file, which it makes if it is not there; a platform that runs reads it within 5 s. */
export async function addProvider(place: ProvidersPlace, kind: string, given: NewProvider): Promise<object> {
  const id = given.id ?? kind;
  const ownUrl = local[kind];
  const lane = {
    id,
    kind: ownUrl === undefined ? kind : 'openai',
    ...((given.url ?? ownUrl) !== undefined && { base_url: given.url ?? ownUrl }),
    ...(given.keyEnv !== undefined && { api_key_env: given.keyEnv }),
    ...(given.keyFile !== undefined && { api_key_file: resolve(given.keyFile) }),
    // A machine of one's own sends no bill.
    ...(ownUrl !== undefined && { free: true }),
  };
  if (ownUrl === undefined && given.url === undefined && !given.keyEnv && !given.keyFile) {
    throw new CommandError(`${kind} needs a key: --key-env NAME of the platform's environment, or --key-file PATH`);
  }
  const parsed = parseRegistry(JSON.stringify({ lanes: [lane] })).lanes[0] as Lane;
  if (parsed.key.fault !== undefined) throw new CommandError(`${id}: ${parsed.key.fault}`);
  const models = given.model ?? (await listedBy(parsed));
  const path = providersPath(place);
  const before = existsSync(path) ? objectOf(JSON.parse(readFileSync(path, 'utf8'))) : {};
  const lanes = objectsOf(before['lanes']);
  if (lanes.some((one) => one['id'] === id)) {
    throw new CommandError(`${path} has a lane ${id} already; give this one another name with --id`);
  }
  const next = { ...before, lanes: [...lanes, { ...lane, models }], aliases: withAliases(before, id, models) };
  parseRegistry(JSON.stringify(next));
  writeWhole(path, next);
  const free = lane.free === true ? '' : unpricedOf(place.dataDir, models);
  return {
    file: path,
    lane: id,
    models: models.join(', '),
    ...(free !== '' && { unpriced: `${free}: keys with a spend cap are refused these` }),
    next: './svc providers check',
  };
}

function unpricedOf(dataDir: string, models: readonly string[]): string {
  const book = PriceBook.read(dataDir);
  return models.filter((model) => book.of(model) === undefined).join(', ');
}

async function listedBy(lane: Lane): Promise<string[]> {
  const { protocol, baseUrl } = lane;
  const url = protocol === 'messages' ? `${baseUrl}/v1` : baseUrl;
  const models = await modelsOf(url, await headersFor(lane, false, {}));
  if (models && models.length > 0) return models;
  throw new CommandError(`${url} lists no models; is it running? name one with --model`);
}

/** A model for `svc` and `svc-fast`, and one of vectors for `svc-embed`, where nothing has these names yet. */
function withAliases(before: Value, id: string, models: readonly string[]): Record<string, unknown> {
  const aliases: Record<string, unknown> = { ...objectOf(before['aliases']) };
  const isVectors = (model: string): boolean => /embed/i.test(model);
  if (models.some((model) => !isVectors(model))) {
    aliases['svc'] ??= [id];
    aliases['svc-fast'] ??= [id];
  }
  if (models.some(isVectors)) aliases['svc-embed'] ??= [id];
  return aliases;
}
