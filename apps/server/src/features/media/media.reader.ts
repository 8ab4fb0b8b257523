import { access } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Log } from '../../kernel/base/log.ts';
import type { Places } from './media.args.ts';
import { type Bound, type CageKind, cageWords, type Chain, inCage, programPath } from './media.cage.ts';
import type { Ended, Programs, ProgramRun } from './media.run.ts';

/** The command that installs what is missing. */
export const mediaCommand = 'run as root: apt-get install --no-install-recommends ffmpeg bubblewrap';

/** What reads recordings on this machine. `ffmpeg` is its version, null when it is not installed. */
export interface MediaReady {
  ffmpeg: string | null;
  cage: CageKind;
}

/** How the programs start on this machine. */
interface Start extends MediaReady {
  words: readonly string[];
}

/** One run on one file. */
interface Pass extends Omit<ProgramRun, 'onLine'> {
  input: string;
  output?: string;
}

const versionMs = 10_000;

/** Whether it could open the file. */
export const hasInput = (said: string): boolean => /^(?:\[info\] )?Input #0, /m.test(said);

/** Starts ffmpeg on files of strangers, in the strictest way that this machine has. */
export class Reader {
  readonly #log: Pick<Log, 'debug'>;
  readonly #programs: Programs;
  readonly #chains: readonly Chain[];
  #start: Start | undefined;

  constructor(log: Pick<Log, 'debug'>, programs: Programs, chains: readonly Chain[]) {
    this.#log = log;
    this.#programs = programs;
    this.#chains = chains;
  }

  /** Runs ffmpeg on one file, in the cage where there is one. */
  async run(
    argsFor: (places: Places) => string[],
    { input, output, ...run }: Pass,
    onLine: (line: string) => boolean | void,
  ): Promise<Ended> {
    const start = await this.found();
    const path = programPath('ffmpeg');
    if (!start || path === undefined)
      throw new ApiError('unavailable', `recordings cannot be read here: ${mediaCommand}`);
    const bound: Bound = { input, ...(output !== undefined && { folder: dirname(output) }) };
    const places =
      start.cage === 'bwrap'
        ? { input: inCage.input, output: join(inCage.folder, basename(output ?? '')) }
        : { input, output: output ?? '' };
    const words = [...start.words, ...(start.cage === 'bwrap' ? cageWords(bound) : []), path, ...argsFor(places)];
    await access(input).catch(() => {
      throw new Error('the recording is not where it was');
    });
    const ran = await this.#programs.run(words, { ...run, onLine });
    // Where the system refuses a lower priority `nice` says so, and goes on.
    const ended = { ...ran, said: ran.said.replace(/^nice: cannot set niceness: .*\n?/, '') };
    if (/^(?:bwrap|setpriv|prlimit|nice): /.test(ended.said)) throw new Error('the cage of a recording did not start');
    // A look has no output, which is an error to ffmpeg.
    if (ended.code !== 0 && !hasInput(ended.said)) {
      // Its words name the file.
      const said = ended.said.replaceAll(input, 'input').replaceAll(output ?? '\0', 'output');
      this.#log.debug({ code: ended.code, said: said.slice(0, 4_096) }, 'a recording could not be read');
    }
    return ended;
  }

  /** How ffmpeg starts here; looks again until it is there. */
  async found(): Promise<Start | undefined> {
    this.#start ??= await this.#find();
    return this.#start;
  }

  /** Tries how ffmpeg starts here, the strictest way first. */
  async #find(): Promise<Start | undefined> {
    const path = programPath('ffmpeg');
    if (path === undefined) return undefined;
    for (const { kind, words } of this.#chains) {
      const command = [...words, ...(kind === 'bwrap' ? cageWords({}) : []), path, '-version'];
      let version: string | undefined;
      const options = { ms: versionMs, signal: AbortSignal.any([]) };
      const onLine = (line: string): void => {
        version ??= /^ffmpeg version (\S+)/.exec(line)?.[1];
      };
      const ended = await this.#programs.run(command, { ...options, onLine }).catch(() => undefined);
      if (ended?.code === 0 && version !== undefined) return { ffmpeg: version, cage: kind, words };
    }
    return undefined;
  }
}
