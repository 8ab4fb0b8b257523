import { execFile, type ExecFileException } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingRows } from './config.ts';
import { CommandError } from './kernel/base/command-error.ts';

/** Characters of a command that failed. */
const lastWords = 2_000;

/** What `svc upgrade` is given. */
export interface UpgradeOptions {
  /** A tag, branch or commit; if unset the newest release, or what the clone's branch follows. */
  release?: string | undefined;
  /** Only says what is newer. */
  check?: boolean | undefined;
  /** The file of the backup that is made first; if unset it goes to `SVC_BACKUP_DIR`. */
  backup?: string | undefined;
  /** Goes on without one: the database is a server of the operator's, or is empty. */
  withoutBackup?: boolean | undefined;
}

/** Where it happens, and how what happens is told. */
interface UpgradePlace {
  /** The clone. */
  root: string;
  /** Settings of this command line, for the commands that it runs. */
  words: readonly string[];
  /** Whether backups have a place by the settings. */
  hasPlace: boolean;
  /** Pid of the platform that runs, if one does. */
  pid: number | undefined;
  say: (line: string) => void;
}

/** The settings of a command line, files of secrets too: a command of the same user reads them again. */
export function settingsOf(commandLine: readonly string[]): string[] {
  const flags = new Set(settingRows().flatMap((row) => row.flags.map(({ flag }) => flag)));
  return commandLine.flatMap((word, at) => {
    if (flags.has(word)) return [word, commandLine[at + 1] ?? ''];
    return flags.has(word.split('=')[0] ?? '') ? [word] : [];
  });
}

/** What `svc upgrade` did, or found. */
interface Upgraded {
  /** Absent: nothing is newer. */
  newer?: { name: string; commit: string; changes: number };
  from: string;
  backup?: string;
  /** What is left to do. */
  next?: string;
}

/**
 * Brings a clone to a newer release beside the one that runs: fetch, back up, check out, install, migrate, restart what runs under
 * a unit. Throws `CommandError` that names the step, and how to go on; until the restart the release before runs on, and what was
 * checked out goes back to it.
 */
export async function upgrade(options: UpgradeOptions, place: UpgradePlace): Promise<Upgraded> {
  const { root, say } = place;
  const git = (...words: string[]): Promise<string> => run('git', ['-C', root, ...words]);
  const step = stepOf(say);
  const top = await git('rev-parse', '--show-toplevel').catch(() => '');
  if (top === '' || (await git('rev-parse', '--show-prefix')) !== '')
    throw new CommandError(`${root} is no clone of git: bring the newer release there as this one was brought`);
  const from = await git('rev-parse', 'HEAD');
  await step('fetch', 'look at the network and at git remote -v, then run this again', () =>
    git('fetch', '--quiet', '--tags', 'origin'),
  );
  const newer = await findNewer(git, options.release);
  if (!newer) return { from, next: 'nothing is newer' };
  if (options.check) return { newer, from };
  const changed = await git('status', '--porcelain', '--untracked-files=no');
  if (changed !== '')
    throw new CommandError(
      `files of the clone were changed: commit them or put them back, then run this again\n${changed}`,
    );
  const svc = (...words: string[]): Promise<string> => run(join(root, 'svc'), [...place.words, ...words]);
  const backup = await step('backup', 'nothing was changed; mend that, then run this again', () =>
    backUp(options, place, svc),
  );
  const branch = await git('symbolic-ref', '--quiet', '--short', 'HEAD').catch(() => from);
  const goBack = async (): Promise<void> => {
    await git('checkout', '--quiet', branch);
    await install(root);
  };
  const before = 'the release before runs on, and is checked out again; mend that, then run this again';
  await step('check out', 'the release before runs on; mend that, then run this again', () =>
    git('checkout', '--quiet', '--detach', newer.commit),
  );
  try {
    await step('install', before, () => install(root));
    await step('migrate', before, () => svc('migrate'));
  } catch (error) {
    await goBack().catch((failed: unknown) => {
      throw new CommandError(
        `${wordsOf(error)}\nand the release before was not installed again (${wordsOf(failed)}): git -C ${root} checkout ${branch}, then ./svc --version`,
      );
    });
    throw error;
  }
  const next = await restart(place, step, `git -C ${root} checkout ${branch}, and restart`);
  return { newer, from, ...(backup !== undefined && { backup }), ...(next !== undefined && { next }) };
}

type Step = <T>(name: string, otherwise: string, work: () => Promise<T>) => Promise<T>;

/** Says each step as it begins; what fails is told with its step and what is to be done. */
const stepOf =
  (say: (line: string) => void): Step =>
  async (name, otherwise, work) => {
    say(`${name} …`);
    try {
      return await work();
    } catch (error) {
      throw new CommandError(`the upgrade ended at its step "${name}": ${wordsOf(error)}\n${otherwise}`);
    }
  };

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What is newer than the clone: what was asked for, else the newest tag of a release, else what the branch follows. */
async function findNewer(git: (...words: string[]) => Promise<string>, release?: string) {
  const tags = (await git('tag', '--list', '--sort=-version:refname')).split('\n');
  const newest = tags.find((tag) => /^v?\d+\.\d+\.\d+$/.test(tag));
  const followed = ['@{upstream}', 'origin/HEAD'];
  for (const name of release === undefined
    ? [...(newest === undefined ? followed : [newest])]
    : [`origin/${release}`, release]) {
    const commit = await git('rev-parse', '--verify', '--quiet', `${name}^{commit}`).catch(() => undefined);
    if (commit === undefined) continue;
    const isOld = await git('merge-base', '--is-ancestor', commit, 'HEAD').then(
      () => true,
      () => false,
    );
    if (isOld && release !== undefined)
      throw new CommandError(
        `${release} is no newer than what is checked out; to go back: docs/operate.md, "Upgrade, and back"`,
      );
    if (isOld) return undefined;
    return { name, commit, changes: Number(await git('rev-list', '--count', `HEAD..${commit}`)) };
  }
  throw new CommandError(
    release === undefined ? 'no release and no branch to follow is known: name one' : `there is no release ${release}`,
  );
}

async function backUp(
  { backup, withoutBackup = false }: UpgradeOptions,
  { hasPlace }: UpgradePlace,
  svc: (...words: string[]) => Promise<string>,
): Promise<string | undefined> {
  if (withoutBackup) return undefined;
  if (backup === undefined && !hasPlace)
    throw new CommandError(
      'name the file of the backup that is made first with --backup FILE, or give --without-backup',
    );
  const said = await svc('--json', 'backup', 'create', ...(backup === undefined ? [] : [backup]));
  return (JSON.parse(said) as { file: string }).file;
}

/** The first command of a release installs what it needs. */
const install = (root: string): Promise<string> => run(join(root, 'scripts/node'), ['--version']);

/** Restarts the unit of the platform that runs; answers what is left to do otherwise. */
async function restart({ pid, root }: UpgradePlace, step: Step, back: string): Promise<string | undefined> {
  if (pid === undefined) return `start it: ${root}/svc up`;
  const unit = unitOf(pid);
  if (unit === undefined) return `restart it: ${root}/svc stop, then ${root}/svc up`;
  if (process.getuid?.() !== 0) return `restart it as root: systemctl restart ${unit}`;
  await step('restart', `look at journalctl -u ${unit}; to go back: ${back}`, () =>
    run('systemctl', ['restart', unit]),
  );
  return undefined;
}

/** The unit of systemd that a process runs under. */
function unitOf(pid: number): string | undefined {
  try {
    return /\/([\w@.-]+\.service)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** Output of a command; throws with its last words. */
function run(command: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, words, { maxBuffer: 16 * 1024 * 1024 }, (error: ExecFileException | null, stdout, stderr) => {
      if (!error) resolve(stdout.trim());
      else reject(new CommandError((stderr || stdout).trim().slice(-lastWords) || error.message));
    });
  });
}
