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
  begun: string;
  /** It only waits to be reaped. */
  isOver: boolean;
}

/** How often new processes are looked for: one that lives shorter and leaves a child behind is not seen. */
const lookMs = 500;

/** The descendants of a process, those too whose parents are gone. Where there is no `/proc`, it sees none. */
export class Family {
  readonly #root: number;
  /** By pid, when each began: pids are given again. */
  readonly #known = new Map<number, string>();
  /** Processes of the last look, of this family or not: most live long, and are read once. */
  #seen = new Map<number, Entry>();
  readonly #looking: NodeJS.Timeout;

  constructor(root: number) {
    this.#root = root;
    this.#looking = setInterval(() => this.#look(), lookMs).unref();
  }

  /** Those that run, without the process itself. */
  living(): Member[] {
    this.#look();
    return [...this.#known].flatMap(([pid, begun]) => {
      const entry = entryOf(pid);
      if (entry === undefined || entry.begun !== begun || entry.isOver) return [];
      return [{ pid, parent: entry.parent, command: commandOf(pid) }];
    });
  }

  /** Kills those that run, and looks for new ones no more. */
  kill(): void {
    clearInterval(this.#looking);
    for (const { pid } of this.living()) kill(pid);
  }

  /** The same with the process itself: first, so that it tells nothing of what it lost. */
  killWhole(): void {
    kill(this.#root);
    this.kill();
  }

  #look(): void {
    const now = new Map<number, Entry>();
    for (const name of namesIn('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const entry = this.#seen.get(Number(name)) ?? entryOf(Number(name));
      if (entry) now.set(entry.pid, entry);
    }
    this.#seen = now;
    for (const pid of this.#known.keys()) if (!now.has(pid)) this.#known.delete(pid);
    for (let found = true; found; ) {
      found = false;
      for (const { pid, parent, begun } of now.values()) {
        if (this.#known.has(pid) || (parent !== this.#root && !this.#known.has(parent))) continue;
        this.#known.set(pid, begun);
        found = true;
      }
    }
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}

function entryOf(pid: number): Entry | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  // The command's name stands in parentheses and may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent = ''] = fields;
  return { pid, parent: Number(parent), begun: fields[19] ?? '', isOver: state === 'Z' || state === 'X' };
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
