import type { Contract, RouteInput } from '@svc/contract';
import { type Client, createClient } from './client.ts';
import { SvcError } from './error.ts';
import type { CallOptions } from './send.ts';

type Sandboxes = Client['sandboxes'];
type SandboxRecord = Awaited<ReturnType<Sandboxes['get']>>;
type Body<V extends 'create' | 'exec' | 'runCode'> = RouteInput<Contract['sandboxes'][V]>['body'];

/** Options of a new sandbox; every field has a default. */
export type SandboxOptions = Body<'create'>;
/** Result of a command: exit code, output, and the receipt. */
export type ExecResult = Awaited<ReturnType<Sandboxes['exec']>>;
/** Result of a cell of the Python kernel. */
export type CodeResult = Awaited<ReturnType<Sandboxes['runCode']>>;
/** How a command runs. */
export type CommandOptions = Omit<Body<'exec'>, 'cmd' | 'shell' | 'language' | 'code'> & {
  /** Called with output as it comes. */
  onOutput?: (text: string, stream: 'stdout' | 'stderr') => void;
};

/** An isolated workspace. `await using` destroys it at the end of its block. */
export class Sandbox implements AsyncDisposable {
  readonly #client: Client;
  readonly id: string;

  private constructor(client: Client, id: string) {
    this.#client = client;
    this.id = id;
  }

  /** Makes one. */
  static async create(options: SandboxOptions = {}, client: Client = createClient()): Promise<Sandbox> {
    return new Sandbox(client, (await client.sandboxes.create({ body: options })).id);
  }

  /** One that exists; throws `SvcError` `not_found` when it does not. */
  static async open(id: string, client: Client = createClient()): Promise<Sandbox> {
    await client.sandboxes.get({ params: { id } });
    return new Sandbox(client, id);
  }

  /** Those of the account, as the gateway knows them: the live ones first. */
  static list(
    query: NonNullable<RouteInput<Contract['sandboxes']['list']>['query']> = {},
    client: Client = createClient(),
  ): AsyncGenerator<SandboxRecord> {
    return client.sandboxes.list.all({ query });
  }

  /** Lets it live so many seconds from now (60 to 604,800); of a paused one, from its resume. */
  async setTimeout(seconds: number): Promise<void> {
    await this.#client.sandboxes.update({ ...this.#at(), body: { ttl_seconds: seconds } });
  }

  /** Runs a program with its arguments, or a line of bash; a command that fails is a result with its `exit_code`. */
  async exec(
    command: string | string[],
    { onOutput, ...options }: CommandOptions = {},
    call?: CallOptions,
  ): Promise<ExecResult> {
    const what = typeof command === 'string' ? { shell: command } : { cmd: command };
    const input = { ...this.#at(), body: { ...options, ...what } };
    if (!onOutput) return this.#client.sandboxes.exec(input, call);
    const output: Pick<ExecResult, 'stdout' | 'stderr' | 'truncated'> = { stdout: '', stderr: '', truncated: [] };
    for await (const frame of this.#client.sandboxes.exec.frames(input, call)) {
      if (frame.type === 'stdout' || frame.type === 'stderr') {
        output[frame.type] += frame.data;
        onOutput(frame.data, frame.type);
      }
      if (frame.type === 'truncated') output.truncated.push(frame.stream);
      if (frame.type === 'error') throw new SvcError({ status: 200, code: frame.code, message: frame.message });
      if (frame.type === 'exit') {
        const { type: _, ...end } = frame;
        return { ...end, ...output };
      }
    }
    const message = 'the stream ended before the command did; it may have been ended with it';
    throw new SvcError({ status: 0, code: 'connection_error', message });
  }

  /** Runs a cell in the Python kernel, whose variables live on. */
  runCode(code: string, options: Omit<Body<'runCode'>, 'code'> = {}, call?: CallOptions): Promise<CodeResult> {
    return this.#client.sandboxes.runCode({ ...this.#at(), body: { ...options, code } }, call);
  }

  /** Writes a file, whole or not at all; the path is relative to `/workspace`. */
  async writeFile(path: string, content: string | Uint8Array): Promise<void> {
    const body = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    await this.#client.sandboxes.writeFile({ params: { id: this.id, path }, body });
  }

  /** The bytes of a file. */
  readFile(path: string): Promise<Uint8Array> {
    return this.#client.sandboxes.readFile({ params: { id: this.id, path } });
  }

  /** The text of a file. */
  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.readFile(path));
  }

  /** The entries of a directory, one level. */
  async listFiles(path = ''): Promise<Awaited<ReturnType<Sandboxes['listFiles']>>['entries']> {
    return (await this.#client.sandboxes.listFiles({ ...this.#at(), query: { path } })).entries;
  }

  /** An address that forwards HTTP and WebSocket to a port inside, for anyone who has it. */
  async previewUrl(port: number, ttlSeconds = 900): Promise<string> {
    return (await this.#client.sandboxes.preview({ ...this.#at(), body: { port, ttl_seconds: ttlSeconds } })).url;
  }

  /** Keeps memory, processes and files, and stops; `files_only` where the memory cannot be kept. */
  async pause(options: { files_only?: boolean } = {}): Promise<void> {
    await this.#client.sandboxes.pause({ ...this.#at(), body: options });
  }

  /** Goes on where the pause left off; false when the memory was lost and the files are what is left. */
  async resume(): Promise<boolean> {
    return (await this.#client.sandboxes.resume(this.#at())).restored;
  }

  /** Makes copies with memory, processes and files; throws the first failure, after ending the copies that came up. */
  async fork(count = 1): Promise<Sandbox[]> {
    const { data } = await this.#client.sandboxes.fork({ ...this.#at(), body: { count } });
    const copies = data.map(({ id }) => new Sandbox(this.#client, id));
    const failed = data.find(({ error }) => error !== undefined);
    if (failed === undefined) return copies;
    await Promise.allSettled(copies.map((copy) => copy.remove()));
    throw new SvcError({ status: 200, code: 'sandbox_capacity', message: failed.error as string });
  }

  /** As the gateway knows it now. */
  record(): Promise<SandboxRecord> {
    return this.#client.sandboxes.get(this.#at());
  }

  /** Destroys it with its workspace; a repeat does nothing more. */
  async remove(): Promise<void> {
    await this.#client.sandboxes.remove(this.#at());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  #at(): { params: { id: string } } {
    return { params: { id: this.id } };
  }
}
