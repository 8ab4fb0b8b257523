import { randomUUID } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { CommonOptions } from '../../config.ts';
import { CommandError, errnoOf } from '../../failure.ts';
import { type Attachment, attach, isRefused, NotAttached } from './attach.ts';
import { carry } from './carry.ts';
import { type Environment, type EnvGateway, findEnvironment, openGateway } from './gateway.ts';
import { Places } from './places.ts';
import { portOf } from './words.ts';

/** Options of `svc env forward`. */
export interface ForwardOptions extends CommonOptions {
  localPort?: string;
  stdio?: boolean;
}

/** A port of a machine that is reached from here. */
interface Forwarding extends EnvGateway {
  environment: Environment;
  port: number;
  signal: AbortSignal;
}

/** As many streams as a relay admits to one client. */
const mostStreams = 64;
/** Time for a local client to read what is left and to close its side. */
const lingerMs = 5_000;

/** `svc env forward`: a port of this machine, or with `--stdio` one connection over standard input and output. */
export async function forward(target: string, portText: string, options: ForwardOptions): Promise<void> {
  const port = portOf(portText);
  const localPort = options.localPort === undefined ? undefined : portOf(options.localPort, '--local-port');
  const gateway = await openGateway(options);
  const environment = await findEnvironment(gateway.client, target);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal).once('SIGHUP', onSignal);
  const forwarding = { ...gateway, environment, port, signal: stop.signal };
  if (options.stdio) return forwardStdio(forwarding);
  await listen(forwarding, localPort, options.json === true);
}

const attachmentOf = ({ relay, environment, port, signal }: Forwarding, clientId: string): Attachment => ({
  relay,
  environmentId: environment.id,
  clientId,
  query: { kind: 'port', port: String(port) },
  signal,
});

async function forwardStdio(forwarding: Forwarding): Promise<void> {
  const { signal, output } = forwarding;
  const about = aboutOf(forwarding);
  try {
    const waits = sayOnce((line) => output.log(`${about}: ${line}`));
    const socket = await attach(attachmentOf(forwarding, randomUUID()), waits);
    const isWhole = await carry({ input: process.stdin, output: process.stdout }, socket);
    if (!isWhole && !signal.aborted) throw new CommandError(`${about}: the connection was lost`);
  } catch (error) {
    if (!signal.aborted) throw asCommandError(error, about);
  } finally {
    process.stdin.destroy();
  }
}

/** Serves the local port until it is stopped, or until the caller may reach the machine's no more. */
async function listen(forwarding: Forwarding, localPort: number | undefined, json: boolean): Promise<void> {
  const { output, port, signal, environment } = forwarding;
  const refused = new AbortController();
  const ended = AbortSignal.any([signal, refused.signal]);
  // One of each connection: Node.js would warn of them on standard error.
  setMaxListeners(0, ended);
  const line = new Line({ ...forwarding, signal: ended }, (error) => refused.abort(error));
  // A client may end its half once it has asked. Until its connection stands, nothing is read from it.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => void line.connect(socket));
  const own = await listenAt(server, localPort, port);
  if (json) output.json({ environment_id: environment.id, port, local_port: own });
  else output.line(`127.0.0.1:${own} leads to port ${port} of ${environment.slug}, until Ctrl-C`);
  if (!ended.aborted) await once(ended, 'abort');
  server.close();
  line.close();
  if (!signal.aborted) throw asCommandError(refused.signal.reason, aboutOf(forwarding));
}

const aboutOf = ({ environment, port }: Forwarding): string => `${environment.slug}:${port}`;

/** Listens at `wanted`, or else at the machine's own number, or where something is free; answers where. */
async function listenAt(server: Server, wanted: number | undefined, usual: number): Promise<number> {
  const at = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  try {
    return await at(wanted ?? usual);
  } catch (error) {
    // In use, or below 1024 and not for this user.
    if (wanted === undefined) return at(0);
    throw new CommandError(`cannot listen on port ${wanted}: ${errnoOf(error) ?? 'unknown error'}`);
  }
}

/** The connections of one local port. */
class Line {
  readonly #forwarding: Forwarding;
  readonly #onRefused: (error: NotAttached) => void;
  readonly #clientId = randomUUID();
  readonly #places = new Places(mostStreams);
  readonly #open = new Set<Socket>();
  readonly #say: (line: string) => void;

  constructor(forwarding: Forwarding, onRefused: (error: NotAttached) => void) {
    this.#forwarding = forwarding;
    this.#onRefused = onRefused;
    this.#say = sayOnce((line) => forwarding.output.log(`${aboutOf(forwarding)}: ${line}`));
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** Joins a local connection with one to the machine, as soon as one of the client's streams is free. */
  async connect(socket: Socket): Promise<void> {
    this.#open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#open.delete(socket));
    socket.setNoDelay(true);
    const giveBack = await this.#places.take();
    try {
      if (socket.destroyed) return;
      const remote = await attach(attachmentOf(this.#forwarding, this.#clientId), this.#say);
      this.#say('');
      if (await carry({ input: socket, output: socket }, remote)) end(socket);
      else socket.resetAndDestroy();
    } catch (error) {
      socket.resetAndDestroy();
      if (this.#forwarding.signal.aborted) return;
      if (error instanceof NotAttached && isRefused(error)) this.#onRefused(error);
      else this.#say((error as Error).message);
    } finally {
      giveBack();
    }
  }
}

/** Lets a local client read what is left; one that does not close its side is closed. */
function end(socket: Socket): void {
  if (socket.destroyed) return;
  socket.end();
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(cut));
}

/** Says the same line again only after another one. */
function sayOnce(say: (line: string) => void): (line: string) => void {
  let said = '';
  return (line) => {
    if (line !== said && line !== '') say(line);
    said = line;
  };
}

const asCommandError = (error: unknown, about: string): CommandError =>
  error instanceof CommandError ? error : new CommandError(`${about}: ${(error as Error).message}`);
