/**
 * Every message between sandboxd, the shim and the guest agent, once. A message is the JSON of a frame (`frames.ts`):
 *
 * - A channel with an odd number is one request of sandboxd to the agent: `open` carries the request, `event` what
 *   happens meanwhile, `close` the end.
 * - A channel with an even number is one connection that code inside asks the shim for: the agent opens it.
 * - Channel 0 is between sandboxd and the shim.
 *
 * The agent is Python (`guest/main.py`, `tunnel.py`); `messages.test.ts` compares the two. The agent runs beside user
 * code, so what it says is read with the schemas here: a field that is missing or wrong gets its default. The shim
 * imports types alone from here, since each library costs memory in every sandbox.
 */
import { codeResult, endedProcess } from '@svc/contract';
import type { CodeRequest, Egress, ExecRequest } from '@svc/sandboxd-api';
import { z } from 'zod';

/** Requests of sandboxd to the agent, by kind: the fields of the `open` frame beside `kind`. */
interface GuestRequests {
  /** Run a command. With `stdin: true` its input follows as data, then `eof`. */
  exec: Omit<ExecRequest, 'stdin'> & { stdin?: true };
  /** Run a cell in the Python kernel. */
  code: CodeRequest & { env: Record<string, string> };
  /** Connect to a port on loopback inside. */
  port: { port: number };
  /** A login shell on a pty: bytes both ways, and `TerminalEvent` from here. It ends with the channel. */
  terminal: { cols: number; rows: number; env: Record<string, string> };
  /** Start the Python kernel anew. */
  reset: object;
  /** Say with the next cell that the variables of those before are gone, and why. */
  lost: { reason: string };
  /** Import modules in the Python kernel before its first cell. */
  warm: { modules: readonly string[] };
  /** Say what stands in the way of a snapshot, and stop nothing for it. */
  look: object;
  /** Stop every process and close every connection to the outside, before a snapshot. */
  freeze: object;
  /** Let them go on, and take connections again, after a snapshot. */
  unfreeze: object;
  /** Go on after a restore: close what was open, give the Python kernel new random numbers. */
  thaw: object;
  /** Some seconds after a restore: say which processes of the snapshot ended since. At once when there was none. */
  ended: object;
  /** Answer once the program of the image that starts with the sandbox serves. */
  started: object;
  /** Tell watchers inside of a file that was written from outside: a fresh one by renaming it from where it lies. */
  announce: { path: string; from?: string };
  /** Answer at once. */
  ping: object;
}
export type GuestKind = keyof GuestRequests;
/** The `open` frame of one kind. */
export type GuestRequest<K extends GuestKind = GuestKind> = { [P in K]: { kind: P } & GuestRequests[P] }[K];

const guestError = z.looseObject({ code: z.string(), message: z.string().catch('') });
/** A refusal of the agent. `code` is one of `NodeErrorCode`, or anything when the agent lies. */
export type GuestError = z.output<typeof guestError>;

/** A number, NaN when it is missing or none. */
const number = z.coerce.number().catch(Number.NaN);
const cellError = codeResult.shape.error.unwrap();
/** An exception of a cell. */
export type CellError = z.output<typeof cellError>;
/** The end of what answers nothing but that it is done. */
const done = z.looseObject({ error: guestError.optional().catch(undefined) });
/** Files in use though they are deleted or replaced: a snapshot cannot bring them back. Undefined when it says nothing. */
const deleted = done.extend({ deleted: z.array(z.unknown()).optional().catch(undefined) });
const stream = z.enum(['stdout', 'stderr']);

const mostEnded = 20;
const toldProcess = endedProcess.extend({
  command: z.string().max(64),
  signal: z.string().max(16).optional(),
});
/** The agent's `close`, the end of a request, by kind. */
export const guestEnds = {
  exec: done.extend({
    /** 128 + n when signal n ended the command; null on timeout, and when it could not start. */
    exit_code: z.number().nullable().catch(null),
    timed_out: z.boolean().catch(false),
    duration_ms: number,
  }),
  code: z.looseObject({
    result: z.string().nullable().catch(null),
    /** A refusal has a code, an exception of the cell has a name. */
    error: z.union([guestError, cellError]).nullable().catch(null),
    images: z.array(z.string()).catch([]),
    /** What was longer than 64 KiB. */
    cut: z
      .array(z.enum(['result', 'error']))
      .max(2)
      .catch([]),
    duration_ms: number,
    execution_count: number,
    kernel_restarted: z.boolean().catch(false),
    restart_reason: z.string().optional().catch(undefined),
  }),
  port: done,
  terminal: done.extend({
    /** Null when a signal ended the shell. */
    exit_code: z.number().nullable().catch(null),
    signal: z.string().max(32).nullable().catch(null),
  }),
  reset: done,
  lost: done,
  warm: done,
  look: deleted,
  freeze: deleted,
  unfreeze: done,
  thaw: done,
  ended: done.extend({ ended: z.array(toldProcess).max(mostEnded).catch([]) }),
  started: done,
  announce: done.extend({ announced: z.boolean().catch(false) }),
  ping: done,
} as const satisfies Record<GuestKind, z.ZodType>;
export type GuestEnd<K extends GuestKind> = z.output<(typeof guestEnds)[K]>;

const truncated = z.object({ truncated: stream });
/** The agent's `event` before the end of a request, by kind. */
export const guestEvents = {
  /** `start`: the command runs, or failed to start. `truncated`: a stream reached its limit, the rest is dropped. */
  exec: z.union([z.object({ start: z.literal(true) }), truncated]),
  code: truncated,
  port: z.object({ connected: z.literal(true) }),
  terminal: z.object({ start: z.literal(true) }),
} as const satisfies Partial<Record<GuestKind, z.ZodType>>;
export type GuestEvent<K extends GuestKind> = K extends keyof typeof guestEvents
  ? z.output<(typeof guestEvents)[K]>
  : never;

/** Whether the agent refused a cell; an exception of the cell has a name and no code. */
export const isRefusal = (error: GuestError | CellError | null): error is GuestError =>
  error !== null && 'code' in error;

/** Reads the payload of a `close`; of an empty one when the sandbox went away. */
export function readEnd<K extends GuestKind>(kind: K, payload: Record<string, unknown>): GuestEnd<K> {
  return guestEnds[kind].parse(payload) as GuestEnd<K>;
}

/** Reads the payload of an `event`; undefined for one that its kind does not have. */
export function readEvent<K extends GuestKind>(kind: K, payload: Record<string, unknown>): GuestEvent<K> | undefined {
  const schemas: Partial<Record<GuestKind, z.ZodType>> = guestEvents;
  return schemas[kind]?.safeParse(payload).data as GuestEvent<K> | undefined;
}

/** What a terminal is told while it runs: its size, in characters. */
export interface TerminalEvent {
  resize: { cols: number; rows: number };
}

/** A request of the agent to the shim: a connection to the outside, for a client of its proxy. */
export interface EgressRequest {
  kind: 'egress';
  host: string;
  port: number;
  /** How the client asked; of no interest to the shim. */
  mode: 'connect' | 'socks' | 'http';
}
/** The shim's answer once the connection is there. */
export interface EgressEvent {
  connected: true;
}
/** Why a connection ended or never was. `failed`: the rules allowed it, and the network did not. */
export interface EgressEnd {
  reason: string;
  failed?: boolean;
}

/** A message of sandboxd to a running shim on channel 0; the shim answers each with `ShimReply`. */
export interface ShimMessage {
  /** Milliseconds since the epoch. */
  expires_at?: number;
  egress?: Egress;
  stop?: true;
}
export interface ShimReply {
  ok: true;
}
