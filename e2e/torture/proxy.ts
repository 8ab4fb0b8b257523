import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applicationOf, boundOf, Cutter, type Message, parsed, queryOf } from './wire.ts';

/** A statement that a client of the database sent, before the server has it. */
export interface Statement {
  /** The work that its connection is for, by the connection's application name: `svc requests`, `svc background`. */
  readonly application: string;
  /** Number of its connection, from 1. */
  readonly connection: number;
  readonly sql: string;
  /** Resolves when the server has answered it whole; never when the connection ends before. */
  readonly answered: Promise<void>;
}

/**
 * The fate of a statement. `pass`: nothing happens. `cut`: the connection breaks before the server has it. `lose`: the
 * server does and answers it, then the connection breaks before the client hears. `swallow`: the server never gets it, and
 * nothing more is heard of the connection.
 */
export type Fate = 'pass' | 'cut' | 'lose' | 'swallow';

/** Decides about each statement; a promise holds the statement, and what its connection sends after it, back. */
type Decide = (statement: Statement) => Fate | Promise<Fate>;

/** A proxy in front of a Postgres on a Unix socket, which reads what its clients say. */
export class WireProxy implements AsyncDisposable {
  /** The folder of the proxy's socket: a `socketDir` of an embedded database. */
  readonly socketDir: string;
  /** Lets all pass until it is set. */
  decide: Decide = () => 'pass';
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #connections = 0;

  private constructor(to: string, name: string) {
    this.socketDir = mkdtempSync(join(tmpdir(), 'svc-wire-'));
    this.#server = createServer((near) => {
      const far = connect(join(to, name));
      const link = new Link(near, far, ++this.#connections, (statement) => this.decide(statement));
      this.#links.add(link);
      near.once('close', () => this.#links.delete(link));
    });
  }

  /** Opens one in front of the server whose socket is in the folder `to`. */
  static async open({ socketDir, port }: { socketDir: string; port: number }): Promise<WireProxy> {
    const name = `.s.PGSQL.${port}`;
    const proxy = new WireProxy(socketDir, name);
    await once(proxy.#server.listen(join(proxy.socketDir, name)), 'listening');
    return proxy;
  }

  /** Whether a connection of which nothing more is heard is still open. */
  isSilent(): boolean {
    return [...this.#links].some((link) => link.isSilent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links) link.end();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.socketDir, { recursive: true, force: true });
  }
}

/** One connection, both sides of it. */
class Link {
  isSilent = false;
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #number: number;
  readonly #decide: Decide;
  readonly #toServer = new Cutter('client');
  readonly #toClient = new Cutter('server');
  /** SQL by the name of its prepared statement. */
  readonly #prepared = new Map<string, string>();
  #application = '';
  /** Messages of the client up to the one that makes the server answer. */
  #group: Message[] = [];
  #sql: string | undefined;
  /** What the client sent is dealt with in its order. */
  #before: Promise<void> = Promise.resolve();
  /** A number for each answer that the server owes, with what happens when it is whole. */
  #owed: { answered: () => void; isLost: boolean }[] = [];

  constructor(near: Socket, far: Socket, number: number, decide: Decide) {
    this.#near = near;
    this.#far = far;
    this.#number = number;
    this.#decide = decide;
    for (const socket of [near, far]) socket.on('error', () => this.end()).on('close', () => this.end());
    near.on('data', (bytes: Buffer) => this.#toServer.push(bytes).forEach((message) => this.#take(message)));
    far.on('data', (bytes: Buffer) => this.#toClient.push(bytes).forEach((message) => this.#answer(message)));
  }

  end(): void {
    this.#near.destroy();
    this.#far.destroy();
  }

  /** Gathers what belongs to one statement. */
  #take(message: Message): void {
    this.#group.push(message);
    const { type } = message;
    if (type === '') this.#application = applicationOf(message);
    else if (type === 'P') this.#prepared.set(parsed(message).name, parsed(message).sql);
    else if (type === 'Q') this.#sql = queryOf(message);
    else if (type === 'B') this.#sql = this.#prepared.get(boundOf(message)) ?? '';
    // Sync, a simple query, Flush, the start, the end, a password: the server acts on what it has.
    if (!'SQHXp'.includes(type)) return;
    const bytes = Buffer.concat(this.#group.map((one) => one.bytes));
    const owes = type === 'S' || type === 'Q' || type === '';
    const sql = owes ? this.#sql : undefined;
    this.#group = [];
    if (owes) this.#sql = undefined;
    this.#before = this.#before.then(() => this.#send(bytes, owes, sql));
  }

  async #send(bytes: Buffer, owes: boolean, sql: string | undefined): Promise<void> {
    if (this.isSilent || this.#far.destroyed) return;
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const fate =
      sql === undefined
        ? 'pass'
        : await this.#decide({ application: this.#application, connection: this.#number, sql, answered });
    if (fate === 'cut') return this.end();
    if (fate === 'swallow') this.isSilent = true;
    if (fate === 'swallow' || this.#far.destroyed) return;
    if (owes) this.#owed.push({ answered: resolve, isLost: fate === 'lose' });
    this.#far.write(bytes);
    // What follows might be a commit of what the client never hears of.
    if (fate === 'lose') this.isSilent = true;
  }

  #answer({ type, bytes }: Message): void {
    const [first] = this.#owed;
    const isWhole = type === 'Z';
    if (isWhole) this.#owed.shift();
    if (first?.isLost !== true) this.#near.write(bytes);
    if (!isWhole || first === undefined) return;
    first.answered();
    if (first.isLost) this.end();
  }
}
