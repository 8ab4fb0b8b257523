import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { masked } from '@svc/inference';
import type { Clock } from '../../kernel/base/clock.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { CloudEntry, MachineSize } from './clouds.file.ts';

/** A machine as its provider sees it. */
export interface CloudMachine {
  /** Its id there. */
  ref: string;
  /** The environment that its label names; undefined: somebody changed the label. */
  environmentId: string | undefined;
  status: 'making' | 'on' | 'stopping' | 'off' | 'leaving';
  /** Its public IPv4 address, once it has one. */
  address: string | null;
}

/** A machine that is to be made. */
export interface NewMachine {
  environmentId: string;
  size: MachineSize;
  /** Runs at its first boot. */
  userData: string;
  /** A repeat with the same one makes no second machine. */
  once: string;
}

/**
 * Machines of one installation at a provider. Every call may be repeated; all throw `CloudFailure`. A further kind is a file like
 * `clouds.hetzner.ts` and a line in `clouds.check.ts`.
 */
export interface Cloud {
  /** Makes a machine, or answers the one that an earlier call made. */
  create(machine: NewMachine): Promise<CloudMachine>;
  /** The machine of an environment, by its label; undefined when there is none. */
  read(environmentId: string): Promise<CloudMachine | undefined>;
  /** Every machine of this installation. */
  list(): Promise<CloudMachine[]>;
  start(ref: string): Promise<void>;
  /** Asks it to shut down; with `force` it is switched off. */
  stop(ref: string, force: boolean): Promise<void>;
  /** Deletes it; one that is gone already is no failure. */
  delete(ref: string): Promise<void>;
  /** The name of the machine type of a size, as the provider knows it. */
  typeOf(size: MachineSize): Promise<string>;
}

/** What a call to a provider needs. */
export interface CloudParts {
  kernel: Pick<Kernel, 'upstream' | 'clock'>;
  entry: CloudEntry;
  /** Id of this installation, a label of its machines. */
  installation: string;
}

/**
 * Why a provider did not do something. `refused`: it will not, however often it is asked; `lost`: whether it did is unknown;
 * `full`: it has no such machine now; `gone`: it has no machine of this id; `taken`: the name stands for a machine already.
 */
type FailureKind = 'refused' | 'lost' | 'busy' | 'full' | 'gone' | 'taken';

/** A provider did not do what it was asked for. The message holds no key. */
export class CloudFailure extends Error {
  override name = 'CloudFailure';
  readonly kind: FailureKind;
  /** It asked to be left alone for so long. */
  readonly waitMs: number | undefined;

  constructor(kind: FailureKind, message: string, waitMs?: number) {
    super(message);
    this.kind = kind;
    this.waitMs = waitMs;
  }
}

/** The key of a provider. Throws `CloudFailure` (`busy`) without one: the operator mends it. */
export async function keyOf({ key }: CloudEntry): Promise<string> {
  try {
    return (await key.read()) ?? '';
  } catch (error) {
    throw new CloudFailure('busy', `it is off: ${(error as Error).message}`);
  }
}

const connectMs = 5_000;
const totalMs = 30_000;
const mostBytes = 8 * 1024 * 1024;
const mostWords = 300;
const longestWaitMs = 600_000;

/** An answer of a provider. */
export interface CloudAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Asks a provider within 30 s and 8 MiB. Every status is an answer; throws `CloudFailure` (`lost`) without one. */
export async function askCloud(
  { upstream, clock }: CloudParts['kernel'],
  url: URL,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: string },
): Promise<CloudAnswer> {
  const ending = new AbortController();
  const cancel = clock.after(totalMs, () => ending.abort());
  try {
    const sent = { method, headers, signal: ending.signal, connectMs, ...(body !== undefined && { body }) };
    const answer = await upstream.ask(url.href, sent);
    return { status: answer.status, headers: answer.headers, text: await textWithin(answer.body) };
  } catch (error) {
    if (error instanceof CloudFailure) throw error;
    const { code, name } = error as { code?: unknown; name?: unknown };
    // The message of a network's error may hold an address.
    const why = ending.signal.aborted ? `no answer within ${totalMs / 1_000} s` : String(code ?? name);
    throw new CloudFailure('lost', `it did not answer: ${why}`);
  } finally {
    cancel();
  }
}

async function textWithin(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > mostBytes) throw new CloudFailure('lost', `its answer is over ${mostBytes / 1024 / 1024} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A provider's own words in one line, without the secrets that it may repeat. */
export function wordsWithout(text: string, secrets: readonly (string | undefined)[]): string {
  return masked(text, secrets)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, mostWords)
    .toWellFormed();
}

/** How long a provider wants to be left alone, by its `Retry-After`, or the instant at which its limit ends; 10 min at most. */
export function waitOf(headers: IncomingHttpHeaders, clock: Pick<Clock, 'now'>): number | undefined {
  const { 'retry-after': after, 'ratelimit-reset': reset } = headers;
  const seconds = /^\s*\d+\s*$/;
  const ms =
    after === undefined
      ? typeof reset === 'string' && seconds.test(reset)
        ? Number(reset) * 1_000 - clock.now()
        : Number.NaN
      : seconds.test(after)
        ? Number(after) * 1_000
        : Date.parse(after) - clock.now();
  return Number.isFinite(ms) ? Math.min(Math.max(1_000, Math.ceil(ms)), longestWaitMs) : undefined;
}
