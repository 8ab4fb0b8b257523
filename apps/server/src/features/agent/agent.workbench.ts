import { Readable } from 'node:stream';
import { defaultTemplate, type SkillName } from '@svc/contract';
import type { Egress, Template } from '@svc/sandboxd-api';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Caller, Sandboxes } from '../sandboxes/index.ts';
import { findSession, type Session, saveHanded, saveSession } from './agent.sql.ts';

/** A sandbox lives this long after its last use (document 3, Chat tool and skills). */
const lifetimeSeconds = 3_600;
/** One without a session lives as long as its request says so: a gateway that was killed says nothing. */
const aloneSeconds = 120;
const renewMs = 30_000;
const busyMs = 500;
/** Caps and full nodes are passing. */
const passing = new Set<string>(['sandbox_concurrency_limit', 'sandbox_capacity']);
const roomMs = 2_000;
/** Of a file that a tool edits or reads whole. */
const mostFileBytes = 1024 * 1024;

/** Of so many files it is known that they were handed out; others are handed out again. */
const mostHanded = 1_000;
const mostHandedBytes = 256 * 1024;

type Artifacts = Awaited<ReturnType<Sandboxes['artifacts']>>;

/** A sandbox that is asked for. */
export interface Bench {
  egress?: Egress | undefined;
  template?: Template | undefined;
  skills: readonly SkillName[];
  /** Seconds that it may wait for a place; default: none. */
  patienceSeconds?: number;
}

/** The sandbox behind the tools of one request: found or made when the first tool needs it. */
export class Workbench {
  readonly #caller: Caller;
  readonly #sandboxes: Sandboxes;
  readonly #setup: Bench;
  /** Requests of one session share the sandbox; without a session it ends with the request. */
  readonly #session: string | undefined;
  #id: string | undefined;
  /** The session's sandbox when it was last looked up. */
  #seen: string | undefined;
  #isClosed = false;
  #stopRenewing = (): void => {};
  #handed: Record<string, string> = {};

  constructor(sandboxes: Sandboxes, caller: Caller, setup: Bench, session: string | undefined) {
    this.#sandboxes = sandboxes;
    this.#caller = caller;
    this.#setup = setup;
    this.#session = session;
  }

  /** A tool used it: what follows must not be sent again as it is. */
  get isUsed(): boolean {
    return this.#id !== undefined;
  }

  /** The sandbox, once a tool used it. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Throws before anything is asked when the session's sandbox is another than the request wants, or is paused. */
  async check(): Promise<void> {
    this.#sandboxes.check(this.#caller.actor);
    await this.#ofSession();
  }

  /** Runs a command. */
  exec(command: { shell: string; timeoutSeconds: number }) {
    const { shell, timeoutSeconds: timeout_seconds } = command;
    return this.#inTurn((id) =>
      this.#sandboxes.exec(this.#caller, id, { shell, timeout_seconds, env: {}, inputs: [] }),
    );
  }

  /** Runs Python; what it defines stays. */
  runCode(cell: { code: string; timeoutSeconds: number }) {
    return this.#inTurn((id) => this.#sandboxes.runCode(this.#caller, id, cell));
  }

  async list(path: string) {
    return this.#sandboxes.listFiles(this.#caller, { id: await this.#open(), path });
  }

  /** The text of a file; throws for one that is over 1 MiB or is no text. */
  async read(path: string): Promise<string> {
    const { bytes, body } = await this.#sandboxes.readFile(this.#caller, { id: await this.#open(), path });
    if (bytes > mostFileBytes) {
      body.destroy();
      throw badRequest(
        `${path} has ${bytes} bytes, and 1 MiB is the most here; use sandbox_bash to look at parts of it`,
      );
    }
    const whole = Buffer.concat(await body.toArray());
    const text = whole.toString('utf8');
    if (!Buffer.from(text).equals(whole)) throw badRequest(`${path} is no text; use sandbox_python to look into it`);
    return text;
  }

  async write(path: string, text: string): Promise<number> {
    const file = { id: await this.#open(), path };
    const bytes = Buffer.from(text);
    await this.#sandboxes.writeFile(this.#caller, file, Readable.from([bytes]));
    return bytes.length;
  }

  /** Files under /workspace/out that this session has not handed out before, or that have changed since. */
  async artifacts(): Promise<Artifacts> {
    if (this.#id === undefined) return [];
    const all = await this.#sandboxes.artifacts(this.#caller, this.#id);
    const fresh = all.filter(({ path, sha256 }) => this.#handed[path] !== sha256);
    if (this.#session !== undefined && fresh.length > 0) {
      const handed = Object.fromEntries(all.slice(0, mostHanded).map(({ path, sha256 }) => [path, sha256]));
      const kept = JSON.stringify(handed).length <= mostHandedBytes ? handed : {};
      await saveHanded(this.#caller.kernel.sql, this.#accountId, this.#session, kept);
    }
    return fresh;
  }

  /** Ends the sandbox, unless a session keeps it. */
  async close(): Promise<void> {
    if (this.#id === undefined || this.#session !== undefined || this.#isClosed) return;
    this.#isClosed = true;
    this.#stopRenewing();
    await this.#sandboxes.destroy(this.#caller, this.#id);
  }

  get #accountId(): string {
    return this.#caller.actor.accountId;
  }

  /** Another request of the session may be at work: its turn first. */
  async #inTurn<T>(work: (id: string) => Promise<T>): Promise<T> {
    const id = await this.#open();
    const { clock } = this.#caller.kernel;
    for (;;) {
      try {
        return await work(id);
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'sandbox_busy')) throw error;
      }
      this.#caller.signal.throwIfAborted();
      await new Promise<void>((resolve) => void clock.after(busyMs, resolve));
    }
  }

  /** The sandbox: that of the session when it still runs, else a fresh one. */
  async #open(): Promise<string> {
    const session = this.#id === undefined ? await this.#ofSession() : undefined;
    const id = this.#id ?? session?.sandbox_id;
    if (id !== undefined && (await this.#sandboxes.extend(this.#caller, id, this.#ttlSeconds))) {
      this.#handed = session?.handed ?? this.#handed;
      if (this.#session !== undefined) await this.#save(id);
      return (this.#id = id);
    }
    if (this.#id !== undefined)
      throw new ApiError('sandbox_not_running', 'the sandbox ended meanwhile; its files are gone');
    return (this.#id = await this.#make());
  }

  async #ofSession(): Promise<Session | undefined> {
    const { kernel } = this.#caller;
    if (this.#session === undefined) return undefined;
    const found = await findSession(kernel.sql, this.#accountId, this.#session);
    this.#seen = found?.sandbox_id;
    const row = found && (await this.#sandboxes.find(this.#accountId, found.sandbox_id));
    if (!row) return undefined;
    if (row.state === 'paused') {
      const message = `the sandbox of this session is paused; resume it with POST /v1/sandboxes/${row.id}/resume`;
      throw new ApiError('sandbox_not_running', message);
    }
    if (row.state !== 'running') return undefined;
    const { template, egress } = this.#setup;
    if (template !== undefined && template !== row.template) throw differs('template', row.template);
    if (egress !== undefined && !isSame(egress, row.egress)) throw differs('egress', row.egress.mode);
    return found;
  }

  async #make(): Promise<string> {
    const { egress = { mode: 'none' }, template, skills } = this.#setup;
    // Documents can be converted and looked at where there is an office; a build of it would take minutes.
    const usual = skills.length > 0 && this.#sandboxes.has('office-acte') ? 'office-acte' : defaultTemplate;
    const { id } = await this.#whenThereIsRoom({
      backend: undefined,
      template: template ?? usual,
      egress,
      metadata: {},
      ttlSeconds: this.#ttlSeconds,
    });
    if (this.#session === undefined) {
      this.#renew(id);
      return id;
    }
    const kept = await this.#save(id);
    if (kept === id) return id;
    // Another request of the session was faster.
    await this.#sandboxes.destroy(this.#caller, id);
    return kept;
  }

  get #ttlSeconds(): number {
    return this.#session === undefined ? aloneSeconds : lifetimeSeconds;
  }

  /** Keeps the sandbox of a request that goes on. */
  #renew(id: string): void {
    const { clock, log } = this.#caller.kernel;
    this.#stopRenewing = clock.every(renewMs, () => {
      this.#sandboxes.extend(this.#caller, id, aloneSeconds).catch((err: unknown) => {
        log.warn({ err, sandbox: id }, 'the sandbox of an answer was not renewed');
      });
    });
  }

  async #whenThereIsRoom(wanted: Parameters<Sandboxes['create']>[1]) {
    const { clock } = this.#caller.kernel;
    const until = clock.monotonic() + (this.#setup.patienceSeconds ?? 0) * 1000;
    for (;;) {
      try {
        return await this.#sandboxes.create(this.#caller, wanted);
      } catch (error) {
        const isPassing = error instanceof ApiError && passing.has(error.code);
        if (!isPassing || clock.monotonic() >= until) throw error;
      }
      await new Promise<void>((resolve) => void clock.after(roomMs, resolve));
      this.#caller.signal.throwIfAborted();
    }
  }

  /** Answers which sandbox is the session's. */
  async #save(id: string): Promise<string> {
    const { sql, clock } = this.#caller.kernel;
    const session = {
      accountId: this.#accountId,
      name: this.#session ?? '',
      sandboxId: id,
      ...(this.#seen !== undefined && { seen: this.#seen }),
    };
    return saveSession(sql, clock, session, lifetimeSeconds);
  }
}

const differs = (field: string, is: string): ApiError =>
  badRequest(`${field}: the sandbox of this session has ${is}; leave it out, or use another x-svc-session-id`, {
    [field]: [`must be ${is} in this session`],
  });

const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);
const canonical = (value: unknown): string =>
  JSON.stringify(Object.entries(value as object).sort(([one], [other]) => (one < other ? -1 : 1)));
