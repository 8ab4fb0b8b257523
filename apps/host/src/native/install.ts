import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf } from '../failure.ts';
import { writePrivate } from '../state.ts';

const execute = promisify(execFile);

/** Entries of ours in the operating system's scheduler. */
interface Installer {
  /** Makes the entries those of `ids`, each calling `command(id)` every minute; throws what the system says. */
  sync(ids: readonly string[]): Promise<void>;
}

/** Options of the entries. */
export interface InstallOptions {
  /** Tells our entries from those of another daemon of the same user. */
  stateDir: string;
  command: (id: string) => readonly string[];
  /** Environment of the system's commands: no child gets the key. */
  environment: Readonly<Record<string, string>>;
  /** `$XDG_CONFIG_HOME`, where the user's systemd looks for units. */
  configDirectory: string;
}

/**
 * The operating system's scheduler: systemd's timers where it runs, else the user's crontab; undefined when there is
 * neither. An entry comes round every minute and `svc host fire` decides whether a slot is due: the gateway's zones,
 * holidays and clock changes are in the slots already, which no crontab could say, and a slot at which the gateway
 * was just lost gets its turn a minute later.
 */
export async function findInstaller(options: InstallOptions): Promise<Installer | undefined> {
  if (process.platform !== 'linux') return undefined;
  if (existsSync('/run/systemd/system')) return systemdInstaller(options, systemdPlace(options.configDirectory));
  return (await execute('crontab', ['-l'], { env: options.environment }).then(
    () => true,
    (error) => errnoOf(error) !== 'ENOENT',
  ))
    ? cronInstaller(options)
    : undefined;
}

type EntryOptions = Omit<InstallOptions, 'configDirectory'>;

/** Where units are, and how to reach the manager that reads them. */
interface SystemdPlace {
  unitDirectory: string;
  systemctl: readonly string[];
}

function systemdPlace(configDirectory: string): SystemdPlace {
  if (process.getuid?.() === 0) return { unitDirectory: '/etc/systemd/system', systemctl: ['systemctl'] };
  return { unitDirectory: join(configDirectory, 'systemd/user'), systemctl: ['systemctl', '--user'] };
}

/** Entries as timers: a user's run while that user is logged in, or lingers (`loginctl enable-linger`). */
export function systemdInstaller(
  { stateDir, command, environment: env }: EntryOptions,
  place: SystemdPlace,
): Installer {
  const { unitDirectory } = place;
  const [program = 'systemctl', ...first] = place.systemctl;
  const systemctl = (...args: string[]) => execute(program, [...first, ...args], { env });
  const mark = `# svc host, state directory ${stateDir}\n`;
  const ours = async () => {
    const names = (await readdir(unitDirectory).catch(() => [])).filter((name) => /^svc-native-.*\.timer$/.test(name));
    const texts = await Promise.all(names.map((name) => readFile(join(unitDirectory, name), 'utf8').catch(() => '')));
    return names.filter((_, at) => texts[at]?.startsWith(mark)).map((name) => name.slice('svc-native-'.length, -6));
  };
  return {
    async sync(ids) {
      const there = await ours();
      const gone = there.filter((id) => !ids.includes(id));
      const fresh = ids.filter((id) => !there.includes(id));
      if (gone.length + fresh.length === 0) return;
      await mkdir(unitDirectory, { recursive: true });
      for (const id of gone) {
        await systemctl('disable', '--now', `svc-native-${id}.timer`);
        for (const kind of ['timer', 'service'])
          await rm(join(unitDirectory, `svc-native-${id}.${kind}`), { force: true });
      }
      for (const id of fresh) {
        const unit = `[Unit]\nDescription=svc schedule ${id}\n`;
        const service = `${mark}${unit}\n[Service]\nType=oneshot\nExecStart=${command(id).map(systemdWord).join(' ')}\n`;
        const timer = `${mark}${unit}\n[Timer]\nOnCalendar=minutely\nAccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n`;
        // The timer last: it is what says that the pair is there.
        await writePrivate(join(unitDirectory, `svc-native-${id}.service`), service, false);
        await writePrivate(join(unitDirectory, `svc-native-${id}.timer`), timer, false);
      }
      await systemctl('daemon-reload');
      for (const id of fresh) await systemctl('enable', '--now', `svc-native-${id}.timer`);
    },
  };
}

/** Entries as lines between two marks of the user's crontab; all other lines stay as they are. */
export function cronInstaller({ stateDir, command, environment: env }: EntryOptions): Installer {
  const begin = `# svc host begin ${stateDir}`;
  const end = `# svc host end ${stateDir}`;
  return {
    async sync(ids) {
      const old = await readCrontab(env);
      const lines = old === '' ? [] : old.replace(/\n$/, '').split('\n');
      const [from, to] = [lines.indexOf(begin), lines.indexOf(end)];
      // An end mark that a person removed: the lines up to it cannot be told from theirs.
      if (from !== -1 && to < from) throw new Error(`the crontab has "${begin}" without its end`);
      if (from === -1 && ids.length === 0) return;
      const others = from === -1 ? lines : lines.toSpliced(from, to - from + 1);
      const own = ids.map((id) => `* * * * * ${command(id).map(cronWord).join(' ')} >/dev/null 2>&1`);
      const wanted = own.length === 0 ? others : [...others, begin, ...own, end];
      const text = wanted.map((line) => `${line}\n`).join('');
      if (text === old) return;
      // `crontab` checks the text and puts it in the place of the old one at once.
      const writing = execute('crontab', text === '' ? ['-r'] : ['-'], { env });
      writing.child.stdin?.on('error', () => {});
      writing.child.stdin?.end(text);
      await writing;
    },
  };
}

/** The user's crontab; empty if there is no crontab. Throws if it cannot be read, so that it is never overwritten. */
async function readCrontab(env: EntryOptions['environment']): Promise<string> {
  try {
    return (await execute('crontab', ['-l'], { env })).stdout;
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    if (stderr?.includes('no crontab for')) return '';
    throw error;
  }
}

/** Quoted for systemd, which would expand `%` and `$`. */
export function systemdWord(word: string): string {
  return `"${word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}

/** Quoted for `sh`; `%` means a line end to cron wherever it stands, quoted or not. */
function cronWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`.replaceAll('%', '\\%');
}
