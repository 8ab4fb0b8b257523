import { spawn } from 'node:child_process';
import type { Ran } from './driver.ts';

const mostOutput = 16_384;

/** Runs a command to its end, killed after `timeoutMs`; answers the end of what it wrote. */
export function run(command: readonly string[], timeoutMs: number): Promise<Ran> {
  return new Promise((resolve) => {
    const [file, ...words] = command;
    const child = spawn(file as string, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-mostOutput);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const done = (code: number | null, more = ''): void => {
      clearTimeout(timer);
      resolve({ code, output: output + more });
    };
    child.once('error', (error) => done(null, error.message));
    child.once('exit', (code) => done(code));
  });
}
