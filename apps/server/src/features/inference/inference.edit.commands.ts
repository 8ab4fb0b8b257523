import { existsSync, lchownSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { objectOf, objectsOf, type Value } from '@svc/inference';
import { CommandError } from '../../kernel/base/command-error.ts';
import { type ProvidersPlace, providersPath, readProvidersText } from '../../kernel/outside/providers.ts';
import { createUpstream } from '../../kernel/outside/upstream.ts';
import { isAdopted } from '../../config.foreign.ts';
import { mayRead, platformUser } from '../../root/user.ts';
import { type Lane, PriceList, parseRegistry, writeWhole } from '../providers/index.ts';
import { headersFor } from './inference.attempt.ts';
import { findUses, localKinds, modelsOf } from './inference.commands.ts';

/** The options of `svc providers add`. */
export interface NewProvider {
  id?: string;
  url?: string;
  keyEnv?: string;
  keyFile?: string;
  model?: string[];
}

type Aliases = Record<string, string[]>;

/**
 * Adds a lane to the file, which it makes if it is not there; a platform that runs reads it within 5 s. What its models are
 * for is tried: one that chats joins `svc` at the end, one that makes vectors is `svc-embed` where nothing is yet.
 */
export async function addProvider(place: ProvidersPlace, kind: string, given: NewProvider): Promise<object> {
  const id = given.id ?? kind;
  const lane = await addressed(laneOf(id, kind, given));
  const parsed = parsedLane(lane, []);
  if (parsed.key.fault !== undefined) throw new CommandError(`${id}: ${parsed.key.fault}`);
  const models = given.model ?? (await listedBy(parsed));
  const before = read(place);
  const lanes = objectsOf(before['lanes']);
  if (lanes.some((one) => one['id'] === id)) {
    throw new CommandError(`${providersPath(place)} has a lane ${id} already; give this one another name with --id`);
  }
  const uses = await tried(parsedLane(lane, models));
  const aliases = aliasesOf(before);
  const said = joinAliases(aliases, id, uses);
  const copied = given.keyFile === undefined ? undefined : copyForPlatform(place.dataDir, id, resolve(given.keyFile));
  const kept = { ...lane, ...(copied !== undefined && { api_key_file: copied }) };
  write(place, { ...before, lanes: [...lanes, { ...kept, models }], aliases });
  const unpriced = lane['free'] === true ? '' : unpricedOf(place.dataDir, models);
  return {
    file: providersPath(place),
    lane: id,
    models: models.join(', '),
    aliases: said.join('; '),
    ...(uses.chat === undefined && { chat: `none of its models answered one (${uses.why})` }),
    ...(copied !== undefined && { key: `copied to ${copied}: the user that the platform runs as cannot read it` }),
    ...(unpriced !== '' && { unpriced: `${unpriced}: keys with a spend cap are refused these` }),
    next: './svc providers check',
  };
}

function laneOf(id: string, kind: string, given: NewProvider): Value {
  const ownUrl = localKinds[kind];
  if (ownUrl === undefined && given.url === undefined && !given.keyEnv && !given.keyFile) {
    throw new CommandError(`${kind} needs a key: --key-env NAME of the platform's environment, or --key-file PATH`);
  }
  return {
    id,
    kind: ownUrl === undefined ? kind : 'openai',
    ...((given.url ?? ownUrl) !== undefined && { base_url: given.url ?? ownUrl }),
    ...(given.keyEnv !== undefined && { api_key_env: given.keyEnv }),
    ...(given.keyFile !== undefined && { api_key_file: resolve(given.keyFile) }),
    // A machine of one's own sends no bill. Of the two names of the limit it may know the older one alone.
    ...(ownUrl !== undefined && { free: true, dialect: { limit: 'both' } }),
  };
}

/**
 * The lane at the address that its protocol means. Everybody has `http://nas:11434` at hand: one without a path is
 * tried with `/v1`, and stays as it is where that alone lists models. Anthropic's has none, as its routes begin with
 * it.
 */
async function addressed(lane: Value): Promise<Value> {
  const { protocol, baseUrl, key } = parsedLane(lane, []);
  if (protocol === 'messages') return lane['base_url'] ? { ...lane, base_url: baseUrl.replace(/\/v1$/, '') } : lane;
  if (new URL(baseUrl).pathname !== '/' || key.fault !== undefined) return lane;
  const lists = async (url: string): Promise<boolean> => {
    const at = parsedLane({ ...lane, base_url: url }, []);
    const models = await modelsOf(at.wire.urlOf(`${url}/models`).href, await headersFor(at, false, {}));
    return models !== undefined && models.length > 0;
  };
  const usual = `${baseUrl}/v1`;
  return { ...lane, base_url: (await lists(usual)) || !(await lists(baseUrl)) ? usual : baseUrl };
}

/** Copies a key that only root can read for a platform that runs as another user; undefined where that is not needed. */
export function copyForPlatform(dataDir: string, id: string, file: string): string | undefined {
  const user = platformUser();
  const folder = statSync(dataDir, { throwIfNoEntry: false });
  if (!user || !folder || !isAdopted(folder) || mayRead(user, file)) return undefined;
  // In the data dir itself, which is root's: in a folder of that user's, root would write where the user wants.
  const copy = join(dataDir, `lane-${encodeURIComponent(id)}.key`);
  const unfinished = `${copy}.${process.pid}`;
  writeFileSync(unfinished, readFileSync(file), { mode: 0o600, flag: 'wx' });
  lchownSync(unfinished, user.uid, user.gid);
  renameSync(unfinished, copy);
  return copy;
}

const parsedLane = (lane: Value, models: readonly string[]): Lane =>
  parseRegistry(JSON.stringify({ lanes: [{ ...lane, models }] })).lanes[0] as Lane;

async function tried(lane: Lane): ReturnType<typeof findUses> {
  const upstream = createUpstream();
  try {
    return await findUses(upstream, lane);
  } finally {
    await upstream.close();
  }
}

/** Adds what a lane is for to the aliases; says what it did. */
function joinAliases(
  aliases: Aliases,
  id: string,
  { chat, vectors }: { chat?: string | undefined; vectors?: string | undefined },
): string[] {
  const said: string[] = [];
  const make = (alias: string, entry: string): void => {
    aliases[alias] = [entry];
    said.push(`${alias} is ${entry}`);
  };
  if (chat !== undefined) {
    const entry = `${id}/${chat}`;
    const { svc } = aliases;
    if (svc && svc.length > 0) {
      svc.push(entry);
      said.push(`svc tries ${entry} last, after ${svc.slice(0, -1).join(', ')}`);
    } else make('svc', entry);
    if (!aliases['svc-fast']?.length) make('svc-fast', entry);
  }
  if (vectors === undefined) return said;
  // Vectors of two models cannot be compared: the second never steps in for the first.
  if (!aliases['svc-embed']?.length) make('svc-embed', `${id}/${vectors}`);
  else said.push(`svc-embed stays ${aliases['svc-embed'].join(', ')}`);
  return said;
}

/** Takes a lane out of the file, and out of every alias. */
export function removeProvider(place: ProvidersPlace, id: string): object {
  const before = read(place);
  const lanes = objectsOf(before['lanes']);
  if (!lanes.some((lane) => lane['id'] === id)) throw noLane(lanes, id);
  const aliases = aliasesOf(before);
  const isOf = (entry: string): boolean => entry === id || entry.startsWith(`${id}/`);
  const left = Object.fromEntries(
    Object.entries(aliases).map(([alias, entries]) => [alias, entries.filter((entry) => !isOf(entry))]),
  );
  const empty = Object.entries(left).flatMap(([alias, entries]) => (entries.length === 0 ? [alias] : []));
  const kept = Object.fromEntries(Object.entries(left).filter(([, entries]) => entries.length > 0));
  write(place, { ...before, lanes: lanes.filter((lane) => lane['id'] !== id), aliases: kept });
  return {
    file: providersPath(place),
    removed: id,
    ...(empty.length > 0 && { gone: `${empty.join(', ')}: no lane is left; ./svc providers alias NAME LANE` }),
  };
}

/** Makes a name lead to lanes, in this order; each is `lane` or `lane/model`. Without lanes the name goes. */
export function aliasProvider(place: ProvidersPlace, alias: string, entries: readonly string[]): object {
  const before = read(place);
  const { [alias]: was = [], ...others } = aliasesOf(before);
  write(place, { ...before, aliases: entries.length === 0 ? others : { ...others, [alias]: [...entries] } });
  return { file: providersPath(place), alias, lanes: entries.join(', ') || 'none', before: was.join(', ') || 'none' };
}

/** Moves a lane within an alias to a place, 1 for the first to be tried. */
export function moveProvider(place: ProvidersPlace, id: string, to: number, alias = 'svc'): object {
  const entries = aliasesOf(read(place))[alias] ?? [];
  const at = entries.findIndex((entry) => entry === id || entry.startsWith(`${id}/`));
  if (at < 0) throw new CommandError(`${alias} does not try ${id}; it tries ${entries.join(', ') || 'nothing'}`);
  if (!Number.isInteger(to) || to < 1 || to > entries.length)
    throw new CommandError(`${alias} has places 1 to ${entries.length}`);
  const [moved = ''] = entries.splice(at, 1);
  entries.splice(to - 1, 0, moved);
  return aliasProvider(place, alias, entries);
}

function read(place: ProvidersPlace): Value {
  const text = existsSync(providersPath(place)) ? readProvidersText(place) : undefined;
  return text === undefined ? {} : objectOf(JSON.parse(text));
}

/** Writes what can be used, and nothing else. */
function write(place: ProvidersPlace, next: object): void {
  try {
    parseRegistry(JSON.stringify(next));
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
  writeWhole(providersPath(place), next);
}

const aliasesOf = (file: Value): Aliases =>
  Object.fromEntries(
    Object.entries(objectOf(file['aliases'])).map(([alias, entries]) => [
      alias,
      Array.isArray(entries) ? entries.map(String) : [],
    ]),
  );

const noLane = (lanes: readonly Value[], id: string): CommandError =>
  new CommandError(`there is no lane ${id}; there are ${lanes.map((lane) => String(lane['id'])).join(', ') || 'none'}`);

function unpricedOf(dataDir: string, models: readonly string[]): string {
  const book = PriceList.read(dataDir);
  return models.filter((model) => book.of(model) === undefined).join(', ');
}

async function listedBy(lane: Lane): Promise<string[]> {
  const { protocol, baseUrl } = lane;
  const url = protocol === 'messages' ? `${baseUrl}/v1` : baseUrl;
  const models = await modelsOf(lane.wire.urlOf(`${url}/models`).href, await headersFor(lane, false, {}));
  if (models && models.length > 0) return models;
  throw new CommandError(`${url} lists no models; is it running? name one with --model`);
}
