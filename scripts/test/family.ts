import { readdirSync, readFileSync } from 'node:fs';

/** A process that a test started, or that such a process started. */
export interface Member {
  pid: number;
  parent: number;
  command: string;
}

interface Entry {
  pid: number;
  parent: number;
  /** With the pid, the identity of a process: pids are given again. */
  begun: string;
}

/** How often new processes are looked for: one that lives shorter and leaves a child behind is not seen. */
const lookMs = 500;

/** The descendants of a process, those too whose parents are gone. Where there is no `/proc`, it sees none. */
export class Family {
  readonly #root: number;
  readonly #known = new Map<number, string>();
  readonly #looking: NodeJS.Timeout;

  constructor(root: number) {
    this.#root = root;
    this.#looking = setInterval(() => this.#look(), lookMs).unref();
  }

  /** Those that run, without the process itself. */
  living(): Member[] {
    return this.#look().map(({ pid, parent }) => ({ pid, parent, command: commandOf(pid) }));
  }

  /** Kills those that run. */
  kill(): void {
    for (const { pid } of this.#look()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
    }
  }

  /** Looks no more for new ones. */
  forget(): void {
    clearInterval(this.#looking);
  }

  #look(): Entry[] {
    const all = processes();
    const isKnown = ({ pid, begun }: Entry): boolean => this.#known.get(pid) === begun;
    const running = new Map(all.map((entry) => [entry.pid, entry]));
    for (let found = true; found; ) {
      found = false;
      for (const entry of all) {
        if (isKnown(entry)) continue;
        const parent = running.get(entry.parent);
        if (entry.parent !== this.#root && !(parent && isKnown(parent))) continue;
        this.#known.set(entry.pid, entry.begun);
        found = true;
      }
    }
    for (const [pid, begun] of this.#known) if (running.get(pid)?.begun !== begun) this.#known.delete(pid);
    return all.filter(isKnown);
  }
}

/** Every process of this machine but zombies. */
function processes(): Entry[] {
  return namesIn('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const text = read(`/proc/${name}/stat`);
    // The command's name stands in parentheses and may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state = '', parent = ''] = fields;
    if (state === '' || state === 'Z' || state === 'X') return [];
    return [{ pid: Number(name), parent: Number(parent), begun: fields[19] ?? '' }];
  });
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 200) || read(`/proc/${pid}/comm`).trim();
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
