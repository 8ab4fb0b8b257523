import { spawn } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { secretFiles } from './config.secrets.ts';
import { processEnvironment, settingRows } from './config.ts';
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
  /** The platform's processes that run. */
  running: readonly { pid: number; part: string }[];
  say: (line: string) => void;
  machine?: UpgradeMachine;
}

/** What `svc upgrade` asks of the machine; tests have one of their own. */
export interface UpgradeMachine {
  isRoot: boolean;
  /** Throws where there is none. */
  processFile: (pid: number, name: 'cgroup' | 'cmdline') => string;
  systemctl: (...words: string[]) => Promise<string>;
  /** Has signals call `end` and not end this process; answers what takes that back. */
  onSignals: (end: () => void) => () => void;
}

const thisMachine: UpgradeMachine = {
  isRoot: process.getuid?.() === 0,
  processFile: (pid, name) => readFileSync(`/proc/${pid}/${name}`, 'utf8'),
  systemctl: (...words) => run('systemctl', words),
  onSignals: (end) => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    for (const signal of signals) process.on(signal, end);
    return () => {
      for (const signal of signals) process.off(signal, end);
    };
  },
};

/** The flags of a command line that name files of secrets: a command of the same user reads those again. */
export function secretFilesOf(commandLine: readonly string[]): string[] {
  const all = settingRows().flatMap((row) => row.flags);
  const flags = new Set(all.filter(({ gives }) => secretFiles.has(gives)).map(({ flag }) => flag));
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
 * checked out goes back to it, after a signal too. One that was killed is gone on with by the next.
 */
export async function upgrade(options: UpgradeOptions, place: UpgradePlace): Promise<Upgraded> {
  const { root, say } = place;
  const git = gitOf(root);
  const step = stepOf(say);
  await requireClone(git, root);
  const from = await git('rev-parse', 'HEAD');
  await step('fetch', 'look at the network and at git remote -v, then run this again', () =>
    git('fetch', '--quiet', '--tags', 'origin'),
  );
  const unfinished = (await noted(git, 'upgradingTo')) === from ? await noted(git, 'upgradingFrom') : undefined;
  const newer = await findNewer(git, {
    release: options.release,
    unfinished: unfinished === undefined ? undefined : from,
  });
  if (!newer && unfinished === undefined) return { from, next: 'nothing is newer' };
  if (options.check)
    return newer ? { newer, from } : { from, next: `an upgrade to ${from} was not ended: ${root}/svc upgrade goes on` };
  await requireUnchanged(git, newer?.commit ?? from);
  const svc: Svc = (words, how) => run(join(root, 'svc'), [...place.words, ...words], how);
  const backup =
    newer &&
    (await step('backup', 'nothing was changed; mend that, then run this again', () => backUp(options, place, svc)));
  const back = unfinished ?? (await git('symbolic-ref', '--quiet', '--short', 'HEAD').catch(() => from));
  await checkOut({ git, svc, step, place, back, commit: newer?.commit ?? from });
  const next = await restart(place, step, `git -C ${root} checkout ${back}, and restart`);
  await forget(git);
  return {
    ...(newer && { newer }),
    from,
    ...(backup !== undefined && { backup }),
    ...(next !== undefined && { next }),
  };
}

type Git = (...words: string[]) => Promise<string>;
type Svc = (words: readonly string[], how?: How) => Promise<string>;

const gitOf =
  (root: string): Git =>
  (...words) =>
    run('git', ['-C', root, ...words], { env: { ...processEnvironment(), LC_ALL: 'C' } });

async function requireClone(git: Git, root: string): Promise<void> {
  const prefix = await git('rev-parse', '--show-prefix').catch((error: unknown) => {
    if (/not a git repository/i.test(wordsOf(error))) return root;
    throw new CommandError(`git cannot read ${root}: ${wordsOf(error)}`);
  });
  if (prefix !== '')
    throw new CommandError(`${root} is no clone of git: bring the newer release there as this one was brought`);
}

/** Changes of the operator's own are not taken off what runs. */
async function requireUnchanged(git: Git, commit: string): Promise<void> {
  const changed = await git('status', '--porcelain', '--untracked-files=no');
  if (changed !== '')
    throw new CommandError(`files of the clone were changed: put them back, then run this again\n${changed}`);
  const own = Number(await git('rev-list', '--count', `${commit}..HEAD`));
  if (own > 0)
    throw new CommandError(
      `what is checked out has ${own} ${own === 1 ? 'commit' : 'commits'} that ${commit} has not, and would run without: to go on without, check it out by hand (docs/operate.md, "Upgrade, and back")`,
    );
}

/** What an upgrade keeps in the clone for the next one, as settings of git. */
type Note = 'upgradingTo' | 'upgradingFrom' | 'follows';
const noted = (git: Git, note: Note): Promise<string | undefined> =>
  git('config', '--get', `svc.${note}`).catch(() => undefined);
const write = (git: Git, note: Note, value: string): Promise<string> => git('config', `svc.${note}`, value);
async function forget(git: Git): Promise<void> {
  for (const note of ['upgradingTo', 'upgradingFrom'] as const) await git('config', '--unset-all', `svc.${note}`);
}

/** Checks a release out, installs and migrates; goes back to `back` when that fails or a signal comes. */
async function checkOut(upgrading: {
  git: Git;
  svc: Svc;
  step: Step;
  place: UpgradePlace;
  back: string;
  commit: string;
}): Promise<void> {
  const { git, svc, step, place, back, commit } = upgrading;
  const { root, machine = thisMachine } = place;
  const before = 'the release before runs on, and is checked out again; mend that, then run this again';
  const ending = new AbortController();
  const { signal } = ending;
  const offSignals = machine.onSignals(() => ending.abort());
  try {
    const upstream = await git('rev-parse', '--abbrev-ref', '@{upstream}').catch(() => undefined);
    if (upstream !== undefined) await write(git, 'follows', upstream);
    await write(git, 'upgradingFrom', back);
    await write(git, 'upgradingTo', commit);
    await step('check out', 'the release before runs on; mend that, then run this again', () =>
      run('git', ['-C', root, 'checkout', '--quiet', '--detach', commit], { isApart: true }),
    );
    try {
      await step('install', before, () => install(root, { isApart: true, signal }));
      await step('migrate', before, () => svc(['migrate'], { isApart: true, signal }));
    } catch (error) {
      await goBack(git, root, back).catch((failed: unknown) => {
        throw new CommandError(
          `${wordsOf(error)}\nand the release before was not installed again (${wordsOf(failed)}): git -C ${root} checkout ${back}, then ./svc --version`,
        );
      });
      throw error;
    }
  } finally {
    offSignals();
  }
}

async function goBack(git: Git, root: string, back: string): Promise<void> {
  await run('git', ['-C', root, 'checkout', '--quiet', back], { isApart: true });
  await install(root, { isApart: true });
  await forget(git);
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
async function findNewer(
  git: Git,
  { release, unfinished }: { release: string | undefined; unfinished: string | undefined },
) {
  const tags = (await git('tag', '--list', '--sort=-version:refname')).split('\n');
  const newest = tags.find((tag) => /^v?\d+\.\d+\.\d+$/.test(tag));
  // What was checked out by an upgrade follows what the branch before it did.
  const followed = ['@{upstream}', await noted(git, 'follows'), 'origin/HEAD'].filter((name) => name !== undefined);
  for (const name of release === undefined
    ? [...(newest === undefined ? followed : [newest])]
    : [`origin/${release}`, release]) {
    const commit = await git('rev-parse', '--verify', '--quiet', `${name}^{commit}`).catch(() => undefined);
    if (commit === undefined) continue;
    const isOld = await git('merge-base', '--is-ancestor', commit, 'HEAD').then(
      () => true,
      () => false,
    );
    if (isOld && release !== undefined && commit !== unfinished)
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
  svc: Svc,
): Promise<string | undefined> {
  if (withoutBackup) return undefined;
  if (backup === undefined && !hasPlace)
    throw new CommandError(
      'name the file of the backup that is made first with --backup FILE, or give --without-backup',
    );
  const said = await svc(['--json', 'backup', 'create', ...(backup === undefined ? [] : [backup])]);
  return (JSON.parse(said) as { file: string }).file;
}

/** The first command of a release installs what it needs. */
const install = (root: string, how: How): Promise<string> => run(join(root, 'scripts/node'), ['--version'], how);

/** Restarts the units of the platform that runs; answers what is left to do otherwise. */
async function restart(place: UpgradePlace, step: Step, back: string): Promise<string | undefined> {
  const { running, root, machine = thisMachine } = place;
  if (running.length === 0) return `start it: ${root}/svc up`;
  const found = await Promise.all(
    running.map(async (each) => ({ ...each, unit: await unitOf(each.pid, root, machine) })),
  );
  const units = [...new Set(found.map(({ unit }) => unit).filter((unit) => unit !== undefined))];
  const rest = found.filter(({ unit }) => unit === undefined).map(({ part, pid }) => `${part} (pid ${pid})`);
  if (units.length === 0) return `restart it: ${root}/svc stop, then ${root}/svc up`;
  // One after the other: of two gateways one answers.
  if (machine.isRoot)
    for (const unit of units)
      await step('restart', `look at journalctl -u ${unit}; to go back: ${back}`, () =>
        machine.systemctl('restart', unit),
      );
  const left = [
    ...(machine.isRoot ? [] : [`restart it as root: systemctl restart ${units.join(' ')}`]),
    ...(rest.length === 0 ? [] : [`end and start again what is under no unit: ${rest.join(', ')}`]),
  ];
  return left.length === 0 ? undefined : left.join('; ');
}

/**
 * The unit of systemd whose main process this is, if it runs from the clone. One that merely started it, such as cron's, or one
 * of a user's session is not its own; and the record that names the process is written by the platform's user, not by root.
 */
async function unitOf(
  pid: number,
  root: string,
  { processFile, systemctl }: UpgradeMachine,
): Promise<string | undefined> {
  try {
    const unit = /\/([\w@.\\:-]+\.service)$/m.exec(processFile(pid, 'cgroup'))?.[1];
    if (unit === undefined || !isOfClone(processFile(pid, 'cmdline'), root)) return undefined;
    return (await systemctl('show', '--property=MainPID', '--value', unit)) === String(pid) ? unit : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a program of the clone is on a command line, seen through links too. */
function isOfClone(commandLine: string, root: string): boolean {
  const own = `${realpathSync(root)}/`;
  return commandLine.split('\0').some((word) => {
    try {
      return word.startsWith('/') && realpathSync(word).startsWith(own);
    } catch {
      return false;
    }
  });
}

interface How {
  env?: NodeJS.ProcessEnv;
  /** In a session of its own: a Ctrl-C in the terminal is for this process, which ends it in order. */
  isApart?: boolean;
  /** Ends it, with what it started; it must be apart. */
  signal?: AbortSignal;
}

/** Output of a command; throws with its last words. */
function run(command: string, words: readonly string[], how: How = {}): Promise<string> {
  const { env = processEnvironment(), isApart = false, signal } = how;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new CommandError('it was interrupted'));
    const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'], detached: isApart, env });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr = (stderr + chunk).slice(-lastWords)));
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      } catch {
        // It has ended meanwhile.
      }
    };
    signal?.addEventListener('abort', end, { once: true });
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(new CommandError(error.code === 'ENOENT' ? `${command} is not installed` : error.message)),
    );
    child.once('close', (code, killedBy) => {
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(new CommandError('it was interrupted'));
      else if (code === 0) resolve(stdout.trim());
      else
        reject(
          new CommandError((stderr || stdout).trim().slice(-lastWords) || `${command} ended with ${killedBy ?? code}`),
        );
    });
  });
}
