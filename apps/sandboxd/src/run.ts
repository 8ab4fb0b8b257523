import { type ChildProcess, spawn } from 'node:child_process';

/** How a command ended. */
interface Ran {
  /** Null when a signal ended it, or its time was over. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Characters kept of each stream: the commands run here say little, and a broken one must not fill the memory. */
const keptChars = 1024 * 1024;

/** Runs a command to its end, without stdin; ended with SIGKILL after `timeoutMs`. Throws when it cannot start. */
export async function run(
  command: string,
  args: readonly string[],
  options: { timeoutMs?: number; cwd?: string } = {},
): Promise<Ran> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: options.timeoutMs ?? 60_000,
    killSignal: 'SIGKILL',
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  const [code, stdout, stderr] = await Promise.all([exited(child), text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** Like `run`, answers what it printed; throws with the last line of its errors when it fails. */
export async function runOk(
  command: string,
  args: readonly string[],
  options: { timeoutMs?: number; cwd?: string } = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return stdout;
  const reason = lastLine(stderr) || lastLine(stdout) || (code === null ? 'took too long' : `exit code ${code}`);
  throw new Error(`${command}: ${reason}`);
}

/** The exit code; null when a signal ended it. Rejects when it could not start. */
export function exited(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
  });
}

/** The last line with something on it. */
export function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1)?.trim() ?? '';
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let kept = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) if (kept.length < keptChars) kept += String(chunk);
  return kept;
}
