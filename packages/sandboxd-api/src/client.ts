import { once } from 'node:events';
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type {
  ChangeRequest,
  CodeRequest,
  CodeResult,
  ExecEvent,
  ExecRequest,
  FileEntry,
  Forked,
  NewSandbox,
  NodeErrorBody,
  NodeErrorCode,
  NodeStatus,
  Paused,
  Resumed,
  SandboxState,
  Scanned,
  Template,
  TerminalSize,
  TurnAnswer,
  TurnRequest,
  WrittenFile,
} from './shapes.ts';
import { turnHeader } from './shapes.ts';

/** A refusal of sandboxd's, or `unreachable` when there was no answer. */
export class NodeFailure extends Error {
  override name = 'NodeFailure';
  readonly code: NodeErrorCode | 'unreachable';
  /** When to try again, in seconds; with `sandbox_capacity`. */
  readonly retryAfterS: number | undefined;

  constructor(code: NodeErrorCode | 'unreachable', message: string, retryAfterS?: number, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.retryAfterS = retryAfterS;
  }

  /** The node is there, but it did not answer in time, or too many connections wait for it already (`EAGAIN`). */
  get isLate(): boolean {
    return this.cause instanceof NotInTime || (this.cause as NodeJS.ErrnoException | undefined)?.code === 'EAGAIN';
  }
}

class NotInTime extends Error {
  override message = 'no answer in time';
}

interface Call {
  method?: string;
  json?: unknown;
  body?: Readable;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** How long the answer may be in coming. */
  silenceMs?: number;
  /** How long it may then be silent. */
  bodySilenceMs?: number;
  /** How long all of its body may take. */
  bodyMs?: number;
}

/** A request that gets no answer for this long has none: a create may wait for an image for two minutes. */
const silenceMs = 180_000;
/** Timeout of a call that a node answers at once. */
const askMs = 3_000;
const endMs = 30_000;
/** Beyond a command's own time: its end, and its outputs' hashes. */
const aroundMs = 60_000;
const connectMs = 10_000;

/** Client of one machine's sandboxd, over its socket. Every call throws `NodeFailure`. */
export class NodeClient {
  readonly socketPath: string;
  /** The turn of this platform that the node accepted last; without one it may have nothing destroyed. */
  turn: number | undefined;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  node = (): Promise<NodeStatus> => this.#json('/v1/node', { silenceMs: askMs, bodyMs: askMs });
  build = (template: Template): Promise<unknown> => this.#json(`/v1/images/${template}`, { method: 'POST' });
  list = async (): Promise<SandboxState[]> =>
    (await this.#json<{ sandboxes: SandboxState[] }>('/v1/sandboxes', { silenceMs: askMs, bodyMs: askMs })).sandboxes;
  create = (id: string, json: NewSandbox): Promise<SandboxState> => this.#json(of(id), { method: 'PUT', json });
  get = (id: string): Promise<SandboxState> => this.#json(of(id));
  change = (id: string, json: ChangeRequest): Promise<SandboxState> => this.#json(of(id), { method: 'PATCH', json });
  destroy = (id: string): Promise<void> => {
    const headers: Record<string, string> = this.turn === undefined ? {} : { [turnHeader]: String(this.turn) };
    return this.#json(of(id), { method: 'DELETE', silenceMs: endMs, headers });
  };
  /** Stops the processes of a running sandbox where they stand, or lets them go on. */
  freeze = (id: string, frozen: boolean): Promise<void> =>
    this.#json(of(id, 'frozen'), { method: 'PUT', json: { frozen }, silenceMs: askMs, bodyMs: askMs });
  /** Says which turn the platform is at; an accepted one is kept as `turn`. A node of the release before knows none: it accepts. */
  async takeTurn(json: TurnRequest): Promise<TurnAnswer> {
    const call = { method: 'POST', json, silenceMs: askMs, bodyMs: askMs };
    const answer = await this.#json<TurnAnswer>('/v1/turns', call).catch((error: unknown) => {
      if (error instanceof NodeFailure && error.code === 'not_found') return { accepted: true, heard: json.turn };
      throw error;
    });
    if (answer.accepted) this.turn = answer.heard;
    return answer;
  }
  runCode = (id: string, json: CodeRequest, signal?: AbortSignal): Promise<CodeResult> =>
    this.#json(of(id, 'run_code'), { method: 'POST', json, signal, silenceMs: silenceMs + json.timeout_ms });
  resetKernel = (id: string): Promise<void> => this.#json(of(id, 'kernel/reset'), { method: 'POST' });
  pause = (id: string, filesOnly = false): Promise<Paused> =>
    this.#json(of(id, 'pause'), { method: 'POST', json: { files_only: filesOnly } });
  resume = (id: string, expiresAt: number): Promise<Resumed> =>
    this.#json(of(id, 'resume'), { method: 'POST', json: { expires_at: expiresAt } });
  fork = (id: string, children: { id: string; expires_at: number }[]): Promise<Forked> =>
    this.#json(of(id, 'fork'), { method: 'POST', json: { children } });
  writeFile = (id: string, path: string, body: Readable, readOnly = false): Promise<WrittenFile> =>
    this.#json(`${of(id, 'files')}?${query({ path, ...(readOnly && { read_only: '1' }) })}`, { method: 'PUT', body });
  listFiles = async (id: string, path: string, recursive = false): Promise<FileEntry[]> => {
    const search = query({ path, ...(recursive && { recursive: '1' }) });
    return (await this.#json<{ entries: FileEntry[] }>(`${of(id, 'files')}?${search}`)).entries;
  };
  scan = (body: Readable): Promise<Scanned> => this.#json('/v1/scan', { method: 'POST', body });

  async readFile(id: string, path: string): Promise<{ bytes: number; body: Readable }> {
    const response = await this.#send(`${of(id, 'file')}?${query({ path })}`);
    return { bytes: Number(response.headers['content-length']), body: bodyOf(response) };
  }

  async archive(id: string): Promise<Readable> {
    return bodyOf(await this.#send(of(id, 'archive')));
  }

  /** All that stands for a sandbox, as a tar that another node takes in (`apps/sandboxd/README.md`). */
  async copy(id: string): Promise<Readable> {
    return bodyOf(await this.#send(of(id, 'copy')));
  }

  /** An image that paused sandboxes were started from, as an archive. */
  async copyImage(digest: string): Promise<Readable> {
    return bodyOf(await this.#send(`/v1/images/${digest}/copy`));
  }

  /** Runs a command; ending the iteration, or `signal`, ends the command. */
  async *exec(id: string, json: ExecRequest, signal?: AbortSignal): AsyncGenerator<ExecEvent, void> {
    const bodySilenceMs = json.timeout_ms + aroundMs;
    const response = await this.#send(of(id, 'exec'), { method: 'POST', json, signal, bodySilenceMs });
    let ended = false;
    try {
      for await (const line of linesOf(response)) {
        const event = JSON.parse(line) as ExecEvent;
        ended = event.type === 'exit' || event.type === 'error';
        yield event;
      }
      if (!ended) throw new NodeFailure('unreachable', 'the node ended the command without an answer');
    } catch (error) {
      throw error instanceof NodeFailure ? error : unreachable(error);
    } finally {
      if (!ended) response.destroy();
    }
  }

  /** A connection to a port on loopback inside. */
  connect = (id: string, port: number): Promise<Duplex> => this.#upgrade(of(id, `ports/${port}`));

  /** A login shell on a terminal inside: frames of `@svc/tunnel` both ways (`apps/sandboxd/README.md`). */
  terminal = (id: string, { cols, rows }: TerminalSize): Promise<Duplex> =>
    this.#upgrade(`${of(id, 'terminal')}?${query({ cols: String(cols), rows: String(rows) })}`);

  async #upgrade(path: string): Promise<Duplex> {
    const request = this.#request(path, { headers: { connection: 'upgrade', upgrade: 'tcp' }, agent: false });
    request.setTimeout(connectMs, () => request.destroy(new NotInTime()));
    request.end();
    const refused = once(request, 'response').then(async ([response]: unknown[]) => {
      throw await failureOf(response as IncomingMessage);
    });
    try {
      const [, socket, head] = (await Promise.race([once(request, 'upgrade'), refused])) as [unknown, Duplex, Buffer];
      if (head.length > 0) socket.unshift(head);
      (socket as Socket).setTimeout(0);
      return socket;
    } catch (error) {
      throw error instanceof NodeFailure ? error : unreachable(error);
    } finally {
      refused.catch(() => {});
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #json<T>(path: string, call: Call = {}): Promise<T> {
    const response = await this.#send(path, call);
    const { bodyMs } = call;
    let isLate = false;
    const giveUp = (): void => {
      isLate = true;
      response.destroy();
    };
    const deadline = bodyMs === undefined ? undefined : setTimeout(giveUp, bodyMs);
    try {
      const text = Buffer.concat(await response.toArray()).toString();
      return (text === '' ? undefined : JSON.parse(text)) as T;
    } catch (error) {
      throw unreachable(isLate ? new NotInTime() : error);
    } finally {
      clearTimeout(deadline);
    }
  }

  /**
   * Sends a request, and once more on a connection of its own where the one that was kept had been closed by the node as idle:
   * it closes them after 5 s, and is asked how it is every 5 s. What was written to a closed one has reached nobody.
   */
  async #send(path: string, call: Call = {}): Promise<IncomingMessage> {
    // A stream of bytes goes once.
    if (call.body) return this.#sendOn(false, path, call);
    try {
      return await this.#sendOn(this.#agent, path, call);
    } catch (error) {
      if (!(error instanceof NodeFailure) || !(error.cause instanceof StaleConnection)) throw error;
      return this.#sendOn(false, path, call);
    }
  }

  async #sendOn(agent: Agent | false, path: string, call: Call): Promise<IncomingMessage> {
    const body = call.json === undefined ? undefined : JSON.stringify(call.json);
    const headers = {
      ...call.headers,
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const request = this.#request(path, {
      method: call.method ?? 'GET',
      headers,
      signal: call.signal,
      agent,
    });
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    answered.catch(() => {});
    request.setTimeout(call.silenceMs ?? silenceMs, () => request.destroy(new NotInTime()));
    let sendFailure: unknown;
    if (call.body) {
      // The caller must hear the source's error, not that of the broken connection that follows.
      pipeline(call.body, request).catch((error: unknown) => {
        sendFailure = error;
      });
      call.body.once('error', (error) => {
        sendFailure = error;
        request.destroy();
      });
    } else request.end(body);
    try {
      const [response] = await answered;
      // From here on it may take its time, as a command without output does.
      request.setTimeout(call.bodySilenceMs ?? silenceMs);
      if ((response.statusCode ?? 500) >= 400) throw await failureOf(response);
      return response;
    } catch (error) {
      if (error instanceof NodeFailure) throw error;
      if (call.body?.errored) throw call.body.errored;
      throw unreachable(isStale(request, error, call) ? new StaleConnection() : (sendFailure ?? error));
    }
  }

  #request(
    path: string,
    options: Omit<RequestOptions, 'signal'> & { signal?: AbortSignal | undefined },
  ): ClientRequest {
    const { signal, ...rest } = options;
    const request = httpRequest({ ...rest, socketPath: this.socketPath, path, ...(signal && { signal }) });
    return request;
  }
}

/** A connection that was kept had been closed by the node before the request came. */
class StaleConnection extends Error {
  override name = 'StaleConnection';
}

/** Of a connection that was reset the node may have read the request: only a question is asked again. */
function isStale({ reusedSocket }: ClientRequest, error: unknown, { method = 'GET' }: Call): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return reusedSocket && (code === 'EPIPE' || (code === 'ECONNRESET' && method === 'GET'));
}

/** The bytes of an answer; when it breaks off, the error is the node's, not the reader's. */
function bodyOf(response: IncomingMessage): Readable {
  async function* bytes(): AsyncGenerator<Buffer> {
    try {
      yield* response as AsyncIterable<Buffer>;
    } catch (error) {
      throw unreachable(error);
    }
  }
  const body = Readable.from(bytes(), { objectMode: false });
  // Also when no one has begun to read.
  return body.once('close', () => response.complete || response.destroy());
}

/** By line feeds alone: `readline` also ends lines at U+2028, which JSON leaves in its texts as it is. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void> {
  let rest = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

const of = (id: string, action = ''): string => `/v1/sandboxes/${id}${action === '' ? '' : `/${action}`}`;
const query = (values: Record<string, string>): string => new URLSearchParams(values).toString();
const unreachable = (cause: unknown): NodeFailure =>
  new NodeFailure('unreachable', 'the sandbox node does not answer', undefined, cause);

async function failureOf(response: IncomingMessage): Promise<NodeFailure> {
  try {
    const text = Buffer.concat(await response.toArray()).toString();
    const { code, message, retry_after_s } = (JSON.parse(text) as NodeErrorBody).error;
    return new NodeFailure(code, message, retry_after_s);
  } catch (error) {
    return unreachable(error);
  }
}
