import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from './config.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { clustersDir, findDataDir, packageRoot, systemDataDir } from './postgres/datadir.ts';
import { sandboxdPlaces, sandboxdProgram } from './sandboxd.ts';
import { stop } from './stop.ts';

const units = ['svc-one.service', 'svc.service', 'svc-sandboxd.service'];
const unitFolder = '/etc/systemd/system';
const cacheDir = '/var/cache/svc';
const user = 'svc';

/** Something that is taken away, or stays. */
interface Item {
  what: string;
  where: string;
  goes: 'yes' | 'with --data' | 'no';
}

/** What to take away. */
interface Wanted {
  yes: boolean;
  data: boolean;
}

/**
 * Takes the platform off this machine: units, sandboxes, caches, the user `svc`, and with `data` everything that it kept. Without
 * `yes` it only tells. Answers what there was.
 */
export async function uninstall(config: Config, { yes, data }: Wanted): Promise<Item[]> {
  const dataDir = findDataDir(config);
  const items = itemsOf(config, dataDir);
  if (!yes) return items;
  if (data && !isDataDir(dataDir)) throw new CommandError(`${dataDir} is no data dir of svc; nothing was removed`);
  for (const unit of units.filter(hasUnit)) {
    spawnSync('systemctl', ['disable', '--now', unit], { stdio: 'ignore' });
    rmSync(join(unitFolder, unit), { force: true });
  }
  await stop(config);
  clearNode(config, dataDir);
  if (data) {
    const cluster = clusterElsewhere(dataDir);
    const link = join(packageRoot, '.svc');
    if (leadsTo(link, dataDir)) rmSync(link);
    rmSync(dataDir, { recursive: true, force: true });
    if (cluster !== undefined) rmSync(cluster, { recursive: true, force: true });
  }
  if (process.getuid?.() === 0) {
    rmSync(cacheDir, { recursive: true, force: true });
    // Its files stay with --data left out, and belong to its number.
    if (data && hasUser()) spawnSync('userdel', [user], { stdio: 'ignore' });
  }
  return items;
}

function itemsOf(config: Config, dataDir: string): Item[] {
  const cluster = clusterElsewhere(dataDir);
  const isRoot = process.getuid?.() === 0;
  return [
    ...units.filter(hasUnit).map((unit) => ({ what: 'unit', where: join(unitFolder, unit), goes: 'yes' as const })),
    { what: 'sandboxes, their files and mounts', where: sandboxdPlaces(config, dataDir).dir, goes: 'yes' },
    { what: 'data: database, blobs, keys, settings', where: dataDir, goes: 'with --data' },
    ...(cluster === undefined ? [] : [{ what: 'database', where: cluster, goes: 'with --data' as const }]),
    ...(isRoot && existsSync(cacheDir) ? [{ what: 'caches and images', where: cacheDir, goes: 'yes' as const }] : []),
    ...(isRoot && hasUser() ? [{ what: 'user', where: user, goes: 'with --data' as const }] : []),
    ...(config.backup.place === undefined
      ? []
      : [{ what: 'backups', where: config.backup.place, goes: 'no' as const }]),
    { what: 'the clone', where: packageRoot, goes: 'no' },
    { what: 'system packages that a start installed', where: 'apt (bubblewrap, btrfs-progs, ffmpeg, …)', goes: 'no' },
  ];
}

/** Nobody means to remove a folder that only has the name. */
const isDataDir = (dataDir: string): boolean =>
  !existsSync(dataDir) ||
  readdirSync(dataDir).length === 0 ||
  ['master.key', 'postgres', 'sandboxd', 'running.json'].some((name) =>
    Boolean(lstatSync(join(dataDir, name), { throwIfNoEntry: false })),
  );

const hasUnit = (unit: string): boolean => Boolean(lstatSync(join(unitFolder, unit), { throwIfNoEntry: false }));

function hasUser(): boolean {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .some((line) => line.startsWith(`${user}:`));
}

/** Whether this is a link to the data dir, which leads nowhere once that is gone. */
const leadsTo = (link: string, dataDir: string): boolean =>
  Boolean(lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) &&
  existsSync(link) &&
  existsSync(dataDir) &&
  realpathSync(link) === realpathSync(dataDir);

/** The folder of a cluster that is kept apart from its data dir. */
function clusterElsewhere(dataDir: string): string | undefined {
  const link = join(dataDir, 'postgres');
  if (!lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined;
  const home = dirname(readlinkSync(link));
  return dirname(home) === clustersDir && home.startsWith(`${systemDataDir}/`) ? home : undefined;
}

function clearNode(config: Config, dataDir: string): void {
  const { dir } = sandboxdPlaces(config, dataDir);
  if (config.sandboxdSocket !== undefined || !existsSync(dir)) return;
  execFileSync(process.execPath, [sandboxdProgram, 'clear', '--dir', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
}
