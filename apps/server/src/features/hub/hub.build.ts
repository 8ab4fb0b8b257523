import { execFile } from 'node:child_process';
import { access, constants, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildFile, type HubBuild, hashOfSources, hubFolder } from '@svc/hub/sources';
import { z } from 'zod';
import { printable } from '../../kernel/base/text.ts';
import type { Kernel } from '../../kernel/kernel.ts';

/** A hub that can be served: its files lie in `folder`. */
export interface BuiltHub extends HubBuild {
  readonly folder: string;
}
/** How far the hub is. */
type Progress = { built: BuiltHub } | { failure: string };

const program = fileURLToPath(import.meta.resolve('@svc/hub/build'));
const buildMs = 120_000;
/** A build that failed is not tried again before. */
const againMs = 30_000;
/** After the start: what builds must not be in the way of what starts. */
const patienceMs = 1_500;

/** The hub of these sources: built once, by a process of its own, when no build of them is there. */
export class HubFiles {
  readonly #kernel: Kernel;
  #progress: Promise<Progress> | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Begins a moment later, unless somebody asks before; answers how to leave it. */
  begin(): () => void {
    return this.#kernel.clock.after(patienceMs, () => void this.find());
  }

  /** The build, or why there is none. What failed is tried again later: strangers ask for pages too. */
  async find(): Promise<Progress> {
    return (this.#progress ??= this.#make().then((progress) => {
      if ('failure' in progress) this.#kernel.clock.after(againMs, () => (this.#progress = undefined));
      return progress;
    }));
  }

  /** The same, or undefined when it takes longer than `mostMs`. */
  async within(mostMs: number): Promise<Progress | undefined> {
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#kernel.clock.after(mostMs, () => late.resolve(undefined));
    try {
      return await Promise.race([this.find(), late.promise]);
    } finally {
      cancel();
    }
  }

  /** A file of an earlier build, for tabs that were opened with it. `name` has a hash in it, so it is of one content. */
  async findOld(name: string): Promise<string | undefined> {
    const folder = await this.#folder();
    const builds = await readdir(folder).catch(() => []);
    for (const build of builds.filter((one) => /^[0-9a-f]{16}$/.test(one))) {
      const path = join(folder, build, name);
      if (await stat(path).catch(() => undefined)) return path;
    }
    return undefined;
  }

  async #make(): Promise<Progress> {
    try {
      const [hash, folder] = [await hashOfSources(), await this.#folder()];
      const found = (await readBuild(join(folder, hash))) ?? (await build(folder, hash));
      await keepFailure(this.#kernel, undefined);
      return { built: found };
    } catch (error) {
      const failure = firstLine(error);
      this.#kernel.log.warn({ err: error }, 'the hub was not built');
      await keepFailure(this.#kernel, failure);
      return { failure };
    }
  }

  #folder(): Promise<string> {
    return folderOf(this.#kernel.dataDir);
  }
}

const failureFile = 'hub.failure.json';
const failureRecord = z.object({ hash: z.string(), at: z.string(), failure: z.string() });
const longestRecord = 16 * 1024;

/** Keeps why the platform's last build failed, for whoever asks from another process; nothing once it is built. */
export async function keepFailure(
  { dataDir, clock }: Pick<Kernel, 'dataDir' | 'clock'>,
  failure: string | undefined,
): Promise<void> {
  const path = join(dataDir, failureFile);
  await rm(path, { force: true }).catch(() => {});
  if (failure === undefined) return;
  const record = { hash: await hashOfSources().catch(() => ''), at: new Date(clock.now()).toISOString(), failure };
  // A full disk is one more reason, and is told by others.
  await writeFile(path, JSON.stringify({ ...record, failure: failure.slice(0, 1_000) }), { flag: 'wx' }).catch(
    () => {},
  );
}

/** That reason, of these sources. The platform's user writes the file, and root may read it: a link or a pipe counts for nothing. */
export async function lastFailure(dataDir: string, hash: string): Promise<string | undefined> {
  const path = join(dataDir, failureFile);
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isFile() || found.size > longestRecord) return undefined;
  try {
    const record = failureRecord.safeParse(JSON.parse(await readFile(path, 'utf8')));
    return record.data?.hash === hash
      ? `${printable(record.data.failure)} (at ${printable(record.data.at)})`
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether the hub of these sources is built, or can be: why the platform failed at it, who may be another user in another place,
 * and else it is tried in a place that is thrown away.
 */
export async function checkBuild(dataDir: string): Promise<{ isBuilt: boolean; failure?: string }> {
  try {
    const hash = await hashOfSources();
    // A build that is there counts, by whomever: a failure before it is over.
    if (await readBuild(join(await folderOf(dataDir), hash))) return { isBuilt: true };
    const failure = await lastFailure(dataDir, hash);
    if (failure !== undefined) return { isBuilt: false, failure };
    const place = await mkdtemp(join(tmpdir(), 'svc-hub-'));
    try {
      await build(place, hash);
    } finally {
      await rm(place, { recursive: true, force: true });
    }
    return { isBuilt: false };
  } catch (error) {
    return { isBuilt: false, failure: firstLine(error) };
  }
}

const firstLine = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);

/** Beside the sources, or in the data dir where these are not ours to write to. */
async function folderOf(dataDir: string): Promise<string> {
  const beside = join(hubFolder, 'dist');
  const place = (await stat(beside).catch(() => undefined)) ? beside : hubFolder;
  const isOurs = await access(place, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (isOurs) return beside;
  const hash = await hashOfSources();
  return (await readBuild(join(beside, hash))) ? beside : join(dataDir, 'hub');
}

/** Builds in a process of its own, so that the gateway goes on. */
async function build(folder: string, hash: string): Promise<BuiltHub> {
  await mkdir(folder, { recursive: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  execFile(process.execPath, [program, folder], { timeout: buildMs, cwd: hubFolder }, (error, _stdout, stderr) =>
    error ? reject(new Error(stderr.trim() || error.message)) : resolve(),
  );
  await promise;
  const built = await readBuild(join(folder, hash));
  if (!built) throw new Error('the sources changed while the hub was built; ask again');
  return built;
}

async function readBuild(folder: string): Promise<BuiltHub | undefined> {
  const text = await readFile(join(folder, buildFile), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : { ...(JSON.parse(text) as HubBuild), folder };
}
