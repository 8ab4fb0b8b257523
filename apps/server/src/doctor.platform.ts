import { existsSync, statSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Check } from './doctor.check.ts';
import { backups } from './doctor.backups.ts';
import { relays } from './doctor.relay.ts';
import { sandboxes } from './doctor.sandboxes.ts';
import { signIn } from './doctor.sign-in.ts';
import { isInstalling } from '@svc/sandboxd/system-packages';
import { MediaFiles, mediaCommand } from './features/media/index.ts';
import { systemClock } from './kernel/base/clock.ts';
import { findRunningProcesses, type RunningProcess } from './running.ts';
import { readProviders } from './features/health/index.ts';
import { checkBuild } from './features/hub/index.ts';
import { countHeld } from './features/notifications/index.ts';
import { findLanesOff } from './features/providers/index.ts';
import {
  aheadFix,
  aheadText,
  clonedFix,
  clonedText,
  findNodeId,
  listClones,
  listLostNodes,
  listMachinesElsewhere,
  listNodesAhead,
  listRefusedNodes,
  mayHaveNode,
  refusedFix,
  refusedText,
} from './features/sandboxes/index.ts';
import { copyFix, copyText, findOriginal } from './home.ts';
import { missingMigrations } from './kernel/db/applied.ts';
import type { Sql } from './kernel/db/db.ts';
import { readFact } from './kernel/db/facts.ts';
import type { Kernel } from './kernel/kernel.ts';
import { findStore, otherStoreFix } from './kernel/outside/blobs.marker.ts';
import { idleLimitMs, listParts, relaysOf, workedMs } from './kernel/peers/parts.ts';
import type { ProvidersPlace } from './kernel/outside/providers.ts';
import { sharedFix, sharedSite, sharedText } from './sites.ts';
import { unconfirmedFact } from './kernel/restored.ts';
import { findHolder } from './kernel/streams/feed.ts';

/** What a running platform and `svc doctor` have both. */
type Parts = Pick<Kernel, 'sql' | 'bus' | 'blobs' | 'dataDir' | 'machine'>;

const leastFreeBytes = 1024 ** 3;

/** The checks that a running platform makes of itself, for its operators. */
export async function checkPlatform(kernel: Parts & Pick<Kernel, 'config' | 'log'>): Promise<Check[]> {
  return [...(await withDatabase(kernel.config, kernel)), ...(await besideDatabase(kernel))];
}

/** A page that is open asks every 15 s: what starts programs and asks other machines is looked at less often. */
const againMs = 30_000;
const lookedAt = new WeakMap<object, { at: number; checks: Promise<Check[]> }>();

function besideDatabase(kernel: Parts & Pick<Kernel, 'config' | 'log'>): Promise<Check[]> {
  const now = performance.now();
  const last = lookedAt.get(kernel);
  if (last && now - last.at < againMs) return last.checks;
  const checks = withoutDatabase(kernel.config, kernel);
  checks.catch(() => lookedAt.delete(kernel));
  lookedAt.set(kernel, { at: now, checks });
  return checks;
}

/** Looks at what a platform has beside its database. */
export async function withoutDatabase(
  config: Config,
  { dataDir, log }: Pick<Kernel, 'dataDir' | 'log'>,
): Promise<Check[]> {
  const running = findRunningProcesses(dataDir);
  return [
    ...users(running),
    providers({ config, dataDir }),
    await hub(dataDir),
    ...(onlyRelays(running) ? [] : [await recordings(config, { dataDir, log })]),
    ...(await relays(config, running)),
    ...(hasNode(config, running) ? await sandboxes(config, running) : []),
  ];
}

const onlyRelays = (running: readonly RunningProcess[]): boolean =>
  running.length > 0 && running.every(({ part }) => part === 'relay');

/** Of several parts the node is beside one of them, or where a setting says; without one nothing is missed here. */
const hasNode = ({ sandboxdSocket }: Config, running: readonly RunningProcess[]): boolean =>
  sandboxdSocket !== undefined ||
  running.length === 0 ||
  running.some(({ part, sandboxd_socket: socket }) => part === 'all' || part === 'sandboxd' || socket !== undefined);

/** A disk or a bucket that hangs must not hold the other checks. */
const answerMs = 10_000;

async function inTime(name: string, check: Promise<Check>): Promise<Check> {
  const { promise, resolve } = Promise.withResolvers<Check>();
  const late = setTimeout(
    () => resolve({ name, ok: false, found: 'does not answer in 10 s', fix: 'look at the disk or the bucket' }),
    answerMs,
  );
  try {
    return await Promise.race([check, promise]);
  } finally {
    clearTimeout(late);
  }
}

/** Looks at the database, what hangs on it, and how people sign in. */
export async function withDatabase(config: Config, { sql, bus, blobs, dataDir, machine }: Parts): Promise<Check[]> {
  const [server] = await sql<{ version: string; fsync: string }[]>`
    select current_setting('server_version') as version, current_setting('fsync') as fsync`;
  const major = Number.parseInt(server?.version ?? '0', 10);
  const durable = server?.fsync === 'on';
  const database: Check = {
    name: 'database',
    ok: major >= 15 && durable,
    found: `Postgres ${server?.version}, fsync ${server?.fsync}, ${config.databaseUrl ? 'by URL' : 'embedded'}`,
  };
  if (major < 15) database.fix = 'use Postgres 15 or newer';
  else if (!durable) database.fix = 'turn fsync on: without it a power cut loses what was acknowledged';
  return [
    database,
    await schema(sql),
    { name: 'bus', ok: bus.isUp(), found: config.natsUrl ? 'NATS' : 'LISTEN/NOTIFY' },
    await storage(config, { sql, blobs, dataDir }),
    await feed(sql),
    ...(await worker(sql)),
    ...(await relayParts(sql)),
    ...(await nodes(sql, mayHaveNode({ config, dataDir }) ? undefined : machine.id)),
    ...(await machines(sql, machine.id, () => findNodeId({ config, dataDir }))),
    ...(await copies(sql)),
    ...(await restore(sql)),
    ...(await sites(config)),
    await inTime('backups', backups(config, await installationOf(sql), { db: sql })),
    ...(await signIn(config, sql)),
  ];
}

/** Previews on the platform's own site; nothing otherwise. */
async function sites(config: Config): Promise<Check[]> {
  const site = await sharedSite(config);
  return site === undefined ? [] : [{ name: 'previews', ok: false, found: sharedText(site), fix: sharedFix }];
}

/** Without the schema there is no fact either. */
const installationOf = async (sql: Sql): Promise<string> =>
  (await readFact(sql, 'installation').catch(() => undefined))?.toString('hex') ?? '';

/** A restore that waits for a person; nothing otherwise. */
async function restore(sql: Sql): Promise<Check[]> {
  // Without the schema there is no fact either.
  const at = await readFact(sql, unconfirmedFact).catch(() => undefined);
  if (!at) return [];
  const held = (await countHeld(sql)).reduce((sum, { waiting }) => sum + waiting, 0);
  const found = `restored from a backup of ${at.toString()}; pushes, mails and webhooks that wait for a person: ${held}`;
  return [{ name: 'restore', ok: false, found, fix: './svc restore confirm, then --send or --drop' }];
}

/** Streams tell nothing that is newer than the oldest open transaction that has written something. */
const longestHoldSeconds = 5;

async function feed(sql: Sql): Promise<Check> {
  const name = 'feed';
  // Without the schema there is no feed either.
  const holder = await findHolder(sql).catch(() => undefined);
  if (!holder || holder.seconds < longestHoldSeconds) return { name, ok: true, found: 'streams are up to date' };
  const found = `streams wait for a transaction of ${Math.round(holder.seconds)} s: pid ${holder.pid}, ${holder.name}`;
  return { name, ok: false, found, fix: `end it: select pg_terminate_backend(${holder.pid})` };
}

const plural = (count: number, name: string): string => `${count} ${name}${count === 1 ? '' : 's'}`;

/**
 * Whether what is due by the clock is done. Says nothing while no process runs, and where one does everything; nor of a
 * copy, which does nothing by the clock, as another check says.
 */
async function worker(sql: Sql): Promise<Check[]> {
  if ((await findOriginal(sql).catch(() => undefined)) !== undefined) return [];
  // Without the schema there are no parts either.
  const rows = await listParts(sql).catch(() => []);
  const live = rows.filter(({ live: isLive }) => isLive);
  const ms = workedMs(rows);
  const works = ms !== undefined && ms < idleLimitMs;
  if (live.length === 0 || (works && live.every(({ part }) => part === 'all'))) return [];
  const count = (name: string) => live.filter(({ part }) => part === name).length;
  const parts = (['gateway', 'worker', 'relay', 'all'] as const)
    .map((name) => (count(name) > 0 || name === 'worker' ? plural(count(name), name === 'all' ? 'whole' : name) : ''))
    .filter((text) => text !== '');
  const found = parts.join(', ');
  if (works) return [{ name: 'worker', ok: true, found }];
  const stands = live.some(({ part }) => part === 'worker' || part === 'all');
  const silent = stands ? `its tickers stand for ${Math.round((ms ?? 0) / 1_000)} s` : 'what is due by the clock waits';
  const fix = stands ? 'see its log, and start it again' : 'start one: ./svc up --only worker';
  return [{ name: 'worker', ok: false, found: `${found}: ${silent}`, fix }];
}

/** Relays that the platform has had within a day, where none is left; says nothing while no process runs. */
async function relayParts(sql: Sql): Promise<Check[]> {
  // Without the schema there are no parts either.
  const rows = await listParts(sql).catch(() => []);
  if (!rows.some(({ live }) => live) || relaysOf(rows).presence !== 'missing') return [];
  const found = 'no relay runs: machines of environments that connect to it are offline';
  const fix = 'start one: ./svc up --only relay; a platform that does without one is told nothing more after a day';
  return [{ name: 'relays', ok: false, found, fix }];
}

/** A node that takes connections and answers nothing is asked for this long before it counts as missing. */
const nodeLimitMs = idleLimitMs / 2;

/** Nodes that are gone; where no process runs, those with sandboxes on them. `without`: a machine that is set to have none. */
async function nodes(sql: Sql, without: string | undefined): Promise<Check[]> {
  // Without the schema there are no nodes either.
  const isRunning = (await listParts(sql).catch(() => [])).some(({ live }) => live);
  const all = await listLostNodes(sql, nodeLimitMs, without).catch(() => []);
  const lost = all.filter(({ paused }) => isRunning || paused > 0);
  if (lost.length === 0) return [];
  const found = lost.map(
    ({ id, machine_name: machine, seconds, paused }) =>
      `${id}${machine === null ? '' : ` of ${machine}`} has not answered for ${Math.round(seconds)} s, paused there: ${paused}`,
  );
  return [
    { name: 'nodes', ok: false, found: found.join('; '), fix: 'start it on its machine: ./svc up --only sandboxd' },
  ];
}

/** Nodes of several machines: one is used, and a gateway reaches the node beside it only. `reached`: the one that answers here. */
async function machines(sql: Sql, own: string, reached: () => Promise<string | undefined>): Promise<Check[]> {
  const name = 'sandbox machines';
  // Without the schema there are no nodes either.
  const refused = await listRefusedNodes(sql).catch(() => []);
  if (refused.length > 0) {
    const found = refused.map(({ machine, first }) => refusedText(machine, first)).join('; ');
    return [{ name, ok: false, found, fix: refusedFix }];
  }
  const clones = await listClones(sql, systemClock).catch(() => []);
  if (clones.length > 0) {
    const found = clones.map(({ id, machine, first }) => clonedText(id, machine, first)).join('; ');
    return [{ name, ok: false, found, fix: clonedFix }];
  }
  if ((await listMachinesElsewhere(sql, own).catch(() => [])).length === 0) return [];
  // Containers may share a node, which is of the one that asked it last.
  const away = await listMachinesElsewhere(sql, own, await reached()).catch(() => []);
  if (away.length === 0) return [];
  const found = `sandboxes are on ${away.join(', ')}; gateways of this machine do not reach them`;
  return [{ name, ok: true, found, fix: 'lead requests for sandboxes to the gateways there: docs/grow.md' }];
}

/** What this platform is a copy of, and nodes that serve another one with its rows. */
async function copies(sql: Sql): Promise<Check[]> {
  // Without the schema there are no nodes either.
  const home = await findOriginal(sql).catch(() => undefined);
  if (home !== undefined) return [{ name: 'copy', ok: false, found: copyText(home), fix: copyFix }];
  const ids = await listNodesAhead(sql).catch(() => []);
  if (ids.length === 0) return [];
  return [{ name: 'copy', ok: false, found: `${ids.join(', ')}: ${aheadText}`, fix: aheadFix }];
}

/** The pages of the hub: built for this version, or why they cannot be. */
async function hub(dataDir: string): Promise<Check> {
  const name = 'hub';
  const { isBuilt, failure } = await checkBuild(dataDir);
  if (failure === undefined)
    return { name, ok: true, found: isBuilt ? 'its pages are built' : 'its pages are built at the first visit' };
  const fix = 'install the packages anew (npm ci), or start from a release, which brings its pages built';
  return { name, ok: false, found: `its pages cannot be built: ${failure.slice(0, 300)}`, fix };
}

/** How many migrations wait, in words. */
export const waiting = (count: number): string =>
  `${count} ${count === 1 ? 'migration waits' : 'migrations wait'} for the next ./svc up`;

async function schema(sql: Sql): Promise<Check> {
  const missing = await missingMigrations(sql);
  const found = missing.length === 0 ? 'that of this version' : waiting(missing.length);
  return { name: 'schema', ok: true, found };
}

/** Asks, and writes nothing: a platform that runs may be at work in the same place. */
async function storage(config: Config, { sql, blobs, dataDir }: Omit<Parts, 'bus' | 'machine'>): Promise<Check> {
  const name = 'storage';
  const where = config.s3 ? `S3 bucket ${config.s3.bucket}` : 'files in the data dir';
  try {
    if (config.s3) await blobs.list('doctor/');
    else await access(existsSync(join(dataDir, 'blobs')) ? join(dataDir, 'blobs') : dataDir, constants.W_OK);
    // Without the schema there is no fact either.
    const store = await findStore({ sql, blobs }).catch(() => 'unmarked');
    if (store === 'other' || store === 'missing')
      return { name, ok: false, found: `${where}: not the store that this database knows`, fix: otherStoreFix };
    const disk = await statfs(dataDir);
    const free = disk.bavail * disk.bsize;
    const found = `${where}; ${Math.round(free / 1024 ** 2)} MiB of disk free`;
    if (free < leastFreeBytes) return { name, ok: false, found, fix: 'free at least 1 GiB of disk' };
    return { name, ok: true, found };
  } catch (error) {
    const fix = config.s3 ? 'check the SVC_S3_… settings and the bucket' : 'make the data dir writable';
    return { name, ok: false, found: (error as Error).message, fix };
  }
}

/** Looks at the providers file, and at lanes without a key. */
function providers(place: ProvidersPlace): Check {
  const name = 'providers';
  try {
    const { length } = readProviders(place);
    const off = findLanesOff(place).map(({ id, reason }) => `${id} is off: ${reason}`);
    if (off.length > 0) {
      const fix = 'set the variable for the platform, or write the key file; the other lanes go on';
      return { name, ok: false, found: `${length} configured; ${off.join('; ')}`, fix };
    }
    if (length > 0) return { name, ok: true, found: `${length} configured` };
    return { name, ok: true, found: 'none: no model answers', fix: 'add one with: ./svc providers add' };
  } catch (error) {
    return { name, ok: false, found: (error as Error).message, fix: 'mend the providers file' };
  }
}

/** Which ffmpeg reads recordings, and whether a cage keeps strangers' files from the machine. */
async function recordings(config: Config, { dataDir, log }: Pick<Kernel, 'dataDir' | 'log'>): Promise<Check> {
  const name = 'recordings';
  const { mediaScratchBytes: scratchBytes } = config;
  const { ffmpeg, cage } = await new MediaFiles({
    dataDir,
    scratchBytes,
    clock: systemClock,
    log,
  }).ready();
  if (ffmpeg === null && isInstalling()) return { name, ok: true, found: 'its packages are being installed' };
  if (ffmpeg === null) return { name, ok: false, found: 'no ffmpeg: transcripts cannot read them', fix: mediaCommand };
  const found = `ffmpeg ${ffmpeg}, cage: ${cage}`;
  if (cage === 'bwrap' || process.platform !== 'linux') return { name, ok: true, found };
  const fix = `without bubblewrap a fault of ffmpeg is one of this machine; ${mediaCommand}, and allow user namespaces`;
  return { name, ok: true, found, fix };
}

/** The user of a platform that was started as root where no user `svc` could be made. */
const nobody = 65_534;

/** Gateway and worker need nothing of root: one that has its rights could not leave them (`root/start.ts`). */
function users(running: readonly RunningProcess[]): Check[] {
  const name = 'user';
  const serving = running.filter(({ part }) => part !== 'sandboxd');
  if (serving.length === 0 || process.platform !== 'linux') return [];
  const isOf = (uid: number) =>
    serving.filter(({ pid }) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid);
  const asRoot = isOf(0);
  if (asRoot.length === 0) {
    const shared = ' but nobody, whom other programs may be too: a user svc could not be made here';
    return [{ name, ok: true, found: `gateway and worker are not root${isOf(nobody).length > 0 ? shared : ''}` }];
  }
  const found = `pid ${asRoot.map(({ pid }) => pid).join(', ')} runs as root`;
  return [{ name, ok: false, found, fix: 'see the first line of its log, or start it as another user' }];
}
