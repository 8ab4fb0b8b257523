import { execFile } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { readNamedFile } from '../../config.handed.ts';
import { environmentValue } from '../../config.ts';
import type { Clock } from '../../kernel/base/clock.ts';
import { changeOf } from '../../kernel/outside/providers.ts';

/** Where a lane's key comes from. */
interface KeySource {
  env?: string | undefined;
  file?: string | undefined;
  /** The name of the file's field in the providers file, for messages; `api_key_file` unless it is set. */
  field?: string;
  /** A program and its arguments, which prints the key. */
  command?: readonly string[] | undefined;
  /** The output of a command is used for so long. */
  commandMs: number;
}

const commandTimeoutMs = 10_000;
const mostOutput = 64 * 1024;

/** The key of a lane: of the environment, of a file that is read again when it changes, or of a command. */
export class LaneKey {
  readonly #source: KeySource;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #changedAt: number | undefined;
  #askedAt: number | undefined;
  #running: Promise<string> | undefined;
  /** The last key that was read; for a message that must not repeat it. */
  last: string | undefined;

  constructor(source: KeySource, clock: Pick<Clock, 'monotonic'>) {
    this.#source = source;
    this.#clock = clock;
  }

  get isNone(): boolean {
    const { env, file, command } = this.#source;
    return env === undefined && file === undefined && command === undefined;
  }

  /** Why there is no key now; undefined when there is one, and for a command, which is asked when the key is needed. */
  get fault(): string | undefined {
    if (this.isNone || this.#source.command) return undefined;
    try {
      this.#readNow();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** The key; undefined when the lane wants no key. Throws when the key is missing, and says why. */
  async read(): Promise<string | undefined> {
    if (this.isNone) return undefined;
    return this.#source.command ? this.#ask(this.#source.command) : this.#readNow();
  }

  /** It was refused: a command is asked anew. */
  forget(): void {
    this.#askedAt = undefined;
  }

  #readNow(): string {
    const { env, file, field = 'api_key_file' } = this.#source;
    if (file === undefined) {
      const value = environmentValue(env ?? '');
      if (!value) throw new Error(`the environment has no ${env}`);
      return (this.last = value);
    }
    if (!isAbsolute(file)) throw new Error(`${field}: ${file} is no absolute path`);
    try {
      const changedAt = changeOf(file);
      if (changedAt !== this.#changedAt) this.last = readNamedFile(file).toString().trim();
      this.#changedAt = changedAt;
    } catch (error) {
      throw new Error(`${field}: ${(error as NodeJS.ErrnoException).code ?? 'cannot be read'}`, { cause: error });
    }
    if (!this.last) throw new Error(`${field}: is empty`);
    return this.last;
  }

  async #ask(command: readonly string[]): Promise<string> {
    const { commandMs } = this.#source;
    const isFresh = this.#askedAt !== undefined && this.#clock.monotonic() - this.#askedAt < commandMs;
    if (isFresh && this.last !== undefined) return this.last;
    this.#running ??= printed(command).finally(() => (this.#running = undefined));
    this.last = await this.#running;
    this.#askedAt = this.#clock.monotonic();
    return this.last;
  }
}

/** The output of a command. It gets the way to programs and its home, and nothing else of the platform's environment. */
function printed([program = '', ...args]: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const env = Object.fromEntries(
    ['PATH', 'HOME', 'USER', 'LANG'].flatMap((name) => {
      const value = environmentValue(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  execFile(program, args, { env, timeout: commandTimeoutMs, maxBuffer: mostOutput }, (error, out) => {
    const text = out.trim();
    // Neither what it printed nor its arguments are told: both may hold a secret.
    if (error) reject(new Error(`token_command: ${typeof error.code === 'string' ? error.code : 'it failed'}`));
    else if (text === '') reject(new Error('token_command: it printed nothing'));
    else resolve(text);
  });
  return promise;
}
