import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { type CommonOptions, loadConfig } from '../../config.ts';
import { holdNamed } from '../../environment/lock-files.ts';
import { CommandError, errnoOf } from '../../failure.ts';
import { createOutput } from '../../output.ts';
import { ensureStateDirectory } from '../../state.ts';
import { relayFailedCode } from '../target.ts';

/** Options of `svc env lock`. */
export interface LockOptions extends CommonOptions {
  /** False: `--no-wait`. */
  wait: boolean;
}

/** EX_TEMPFAIL, as `flock -E 75` is used: another process holds the lock. */
const heldCode = 75;
const passedOn = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

/** `svc env lock`: runs a command while this process holds a named lock of the machine; answers the exit code of the command. */
export async function lock(name: string, words: readonly string[], options: LockOptions): Promise<number> {
  // The lock is this machine's: no gateway is asked, and no key is needed.
  const { key, stateDir } = loadConfig(options, undefined, 'optional');
  const output = createOutput(key);
  await ensureStateDirectory(stateDir);
  const stop = new AbortController();
  // One handler from here to the end: a signal in a gap would end this process, and its command would go on without the lock.
  let take = (signal: NodeJS.Signals): void => stop.abort(signal);
  const onSignal = (signal: NodeJS.Signals): void => take(signal);
  for (const signal of passedOn) process.on(signal, onSignal);
  let holder = 'another process';
  const held = await holdNamed(name, {
    stateDir,
    isImpatient: !options.wait,
    signal: stop.signal,
    onWait(one) {
      holder = one;
      if (options.wait) output.log(`waiting for the lock "${name}", which ${one} holds`);
    },
  });
  try {
    if (stop.signal.aborted) return codeOfSignal(stop.signal.reason as NodeJS.Signals);
    if (!held) throw new CommandError(`${holder} holds the lock "${name}"`, heldCode);
    return await runCommand(words, (passOn) => {
      take = passOn;
    });
  } finally {
    for (const signal of passedOn) process.off(signal, onSignal);
    await held?.release();
  }
}

/**
 * Runs a command on our own standard streams; answers its exit code, or what a shell would say of its end. `onSignals` is given
 * what takes the signals of this process meanwhile.
 */
async function runCommand(
  [file = '', ...args]: readonly string[],
  onSignals: (passOn: (signal: NodeJS.Signals) => void) => void,
): Promise<number> {
  const child = spawn(file, args, { stdio: 'inherit' });
  // This process ends after the command, which decides about a signal. A terminal sends Ctrl-C to the command too.
  onSignals((signal) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(code ?? codeOfSignal(signal)));
    });
  } catch (error) {
    const code = errnoOf(error);
    const known = code === 'ENOENT' ? 127 : code === 'EACCES' ? 126 : relayFailedCode;
    throw new CommandError(`cannot run ${file}: ${code ?? (error as Error).message}`, known);
  }
}

/** As shells say that a signal ended a command. */
export const codeOfSignal = (signal: NodeJS.Signals | null): number =>
  signal === null ? relayFailedCode : 128 + constants.signals[signal];
