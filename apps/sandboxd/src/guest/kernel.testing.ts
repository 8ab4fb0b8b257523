import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** Where the kernel's own files stand beside an image. */
const guest = '/run/guest';

/** A program that sees an image, and of this machine its workspace alone; it is no sandbox. */
const inside = (workspace: string, rootfs: string): string[] =>
  [
    ['bwrap', '--ro-bind', rootfs, '/', '--bind', workspace, '/workspace', '--dev', '/dev', '--proc', '/proc'],
    ['--tmpfs', '/tmp', '--tmpfs', '/run', '--ro-bind', import.meta.dirname, guest, '--chdir', '/workspace'],
    ['--setenv', 'HOME', '/workspace', '--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin'],
  ].flat();

export interface Answer {
  result: string | null;
  error: { name: string; value: string; traceback: string } | null;
  images: string[];
  cut: string[];
}

/** The Python kernel as the agent starts it, with the Python of this machine or of an image, in a workspace of its own. */
export class Kernel implements AsyncDisposable {
  said = { stdout: '', stderr: '' };
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  readonly workspace: string;

  /** `rootfs`: of the image whose Python and libraries are meant. */
  constructor(workspace: string, rootfs?: string) {
    this.workspace = workspace;
    const words = ['python3', '-B', '-u', join(rootfs ? guest : import.meta.dirname, 'kernel.py'), '3', '4'];
    const [program = '', ...more] = rootfs ? [...inside(workspace, rootfs), ...words] : words;
    const stdio = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] as const;
    this.#child = spawn(program, more, { cwd: workspace, stdio: [...stdio], detached: true });
    const answers = this.#child.stdio[4] as Readable;
    this.#answers = createInterface(answers)[Symbol.asyncIterator]();
    for (const name of ['stdout', 'stderr'] as const) {
      this.#child[name]?.on('data', (chunk: Buffer) => {
        this.said[name] += chunk.toString();
      });
    }
  }

  async run(code: string): Promise<Answer> {
    (this.#child.stdio[3] as Writable).write(`${JSON.stringify({ op: 'run', code, env: {} })}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error(`the kernel ended: ${this.said.stderr}`);
    return JSON.parse(value) as Answer;
  }

  /** Interrupts the cell that runs. */
  interrupt = () => this.#child.kill('SIGINT');

  /** Lets it end, and answers all that it wrote. */
  async end(): Promise<Readonly<Kernel['said']>> {
    const ended = once(this.#child, 'close');
    (this.#child.stdio[3] as Writable).end();
    await ended;
    return this.said;
  }

  async [Symbol.asyncDispose]() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
