import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { statFields } from '@svc/process-lock';
import { printable } from './output.ts';

/** Answer of a person at the daemon's terminal; `unavailable` when nobody can be asked or no answer came in time. */
export type TerminalAnswer = 'yes' | 'no' | 'unavailable';

/** Asks the person at the daemon's own terminal. */
export interface Approver {
  /** Whether there is a terminal to ask on at this moment. */
  available(): boolean;
  /** Shows `question` on one line and waits for y or n, until `signal` aborts. One question at a time. */
  ask(question: string, signal: AbortSignal): Promise<TerminalAnswer>;
}

/** The terminal's two ends. */
export interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream & { isTTY?: boolean };
}

/** Milliseconds in which keys typed before the question are thrown away. */
const discardMs = 50;

/** Makes the approver of a terminal; the default is the one the process was started on. */
export function createApprover(
  terminal: Terminal = { input: process.stdin, output: process.stderr },
  foreground: () => boolean = inForeground,
): Approver {
  const available = () => terminal.input.isTTY === true && terminal.output.isTTY === true && foreground();
  let turn: Promise<unknown> = Promise.resolve();
  return {
    available,
    ask(question, signal) {
      const next = turn.then(() => (available() ? prompt(terminal, question, signal) : 'unavailable'));
      turn = next.catch(() => {});
      return next;
    },
  };
}

async function prompt({ input, output }: Terminal, question: string, signal: AbortSignal): Promise<TerminalAnswer> {
  if (signal.aborted) return 'unavailable';
  // Not `terminal: true`: that turns the tty's own line editing off, and with it Ctrl-C as a signal.
  const lines = createInterface({ input, terminal: false });
  const answer = Promise.withResolvers<TerminalAnswer>();
  let asked = false;
  lines.on('line', (line) => {
    if (asked) answer.resolve(/^\s*y(es)?\s*$/i.test(line) ? 'yes' : 'no');
  });
  lines.once('close', () => answer.resolve('unavailable'));
  const onAbort = () => answer.resolve('unavailable');
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await sleep(discardMs);
    asked = true;
    output.write(`${printable(question)} [y/N] `);
    const given = await answer.promise;
    if (given === 'unavailable') output.write('(no answer: refused)\n');
    return given;
  } finally {
    signal.removeEventListener('abort', onAbort);
    lines.close();
    input.pause();
  }
}

/** False in a background job, which the terminal would stop as soon as it reads. Linux only; elsewhere true. */
function inForeground(): boolean {
  try {
    const [, , group, , , terminalGroup] = statFields('self');
    return group === terminalGroup;
  } catch {
    return true;
  }
}
