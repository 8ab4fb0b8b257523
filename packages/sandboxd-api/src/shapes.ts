/**
 * The API between the gateway and sandboxd, the node agent that holds the sandboxes of one machine: JSON over
 * HTTP on a Unix socket. The table of routes stands in `apps/sandboxd/README.md`.
 */
import {
  backend,
  type codeResult,
  type egressPreset,
  type endedProcess,
  type execFrame,
  type fileEntry,
  type forkedSandbox,
  language,
  type outputFile,
  type resumed,
  type scanVerdict,
  storedEgress,
  type Template,
  template,
} from '@svc/contract';
import { z } from 'zod';

export type { Template } from '@svc/contract';
export type Backend = z.infer<typeof backend>;
/** Where code inside may connect to; enforced outside of the sandbox, by host name. */
export type Egress = z.infer<typeof storedEgress>;
export type EgressPreset = z.infer<typeof egressPreset>;

/** `PUT /v1/sandboxes/{id}`: creates it; a repetition answers the one there is. Instants are epoch milliseconds. */
export const newSandbox = z.object({
  /** Which installation of the platform it belongs to: others leave it alone. */
  owner: z.string().default(''),
  backend,
  template,
  egress: storedEgress,
  /** sandboxd ends the sandbox at this instant by itself, also when nobody asks it to. */
  expires_at: z.int(),
});
export type NewSandbox = z.input<typeof newSandbox>;

/** A process that ended right after a restore. */
export type EndedProcess = z.infer<typeof endedProcess>;

/** A sandbox as sandboxd knows it. */
export interface SandboxState {
  id: string;
  owner: string;
  backend: Backend;
  template: Template;
  status: 'running' | 'paused' | 'stopped';
  /** Why it is stopped: `expired`, `memory` (the machine's limit ended it), `crashed`. */
  reason?: string;
  /** Started from a warm snapshot of its template. */
  restored: boolean;
  /** `sha256:<hex>` of the root file system. */
  image_digest: string;
  expires_at: number;
  /** Bytes of disk that it takes while it is paused: its memory and its workspace, or that alone when only files were kept. */
  snapshot_bytes?: number;
  /** Of a paused one: whether its memory was kept. */
  memory?: boolean;
  /** Processes of the snapshot that it came from last, and ended within seconds of that. */
  ended_after_resume?: EndedProcess[];
  /** Since when it stands still (epoch milliseconds), if it does (`PUT …/frozen`). */
  frozen_at?: number;
}

/**
 * `POST /v1/turns`: which round of its installation a platform is at, a number that it raises in its database before each. A
 * platform whose database is a copy, or was restored, is behind, and stays so.
 */
export const turnRequest = z.object({
  owner: z.string().min(1).max(200),
  turn: z.int().min(1),
  /** Names the process that asks, for as long as it lives. */
  holder: z.string().min(1).max(100).optional(),
});
export type TurnRequest = z.infer<typeof turnRequest>;

/**
 * Whether the turn was taken: it is above every one of that installation before, or its process was heard before. `heard` is the
 * highest one, which may then be above the one that was told.
 */
export interface TurnAnswer {
  accepted: boolean;
  heard: number;
}

/** Header of a `DELETE`: a turn of the platform that the node has accepted. */
export const turnHeader = 'x-svc-turn';

/** `PUT …/frozen`. */
export const frozenRequest = z.object({ frozen: z.boolean() });

/** `POST …/exec`. Exactly one of `cmd`, `shell` and `code` with `language`. The gateway has checked lengths and counts. */
export const execRequest = z.object({
  cmd: z.array(z.string()).optional(),
  shell: z.string().optional(),
  language: language.optional(),
  code: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
  /** Inside `/workspace`, relative to it or absolute; default its root. */
  cwd: z.string().optional(),
  stdin: z.string().optional(),
  timeout_ms: z.int(),
});
export type ExecRequest = z.infer<typeof execRequest>;

/** A file that a command wrote below `/workspace/out`; `path` is relative to `/workspace`. */
export type OutputFile = z.infer<typeof outputFile>;

type ExecFrame = z.infer<typeof execFrame>;
/**
 * Lines of the answer to an exec (`application/x-ndjson`): the frames that a caller gets, but that `exit` has the
 * outputs, of which the gateway makes a receipt, and whether the workspace changed (one of the version before does not
 * say). `truncated`: a stream reached 1 MiB; the rest of it is dropped.
 */
export type ExecEvent =
  | Exclude<ExecFrame, { type: 'exit' | 'error' }>
  | (Omit<Extract<ExecFrame, { type: 'exit' }>, 'receipt'> & { outputs: OutputFile[]; changed?: boolean })
  | (Extract<ExecFrame, { type: 'error' }> & { code: NodeErrorCode });

/** `POST …/run_code`. */
export const codeRequest = z.object({ code: z.string(), timeout_ms: z.int() });
export type CodeRequest = z.infer<typeof codeRequest>;

/** Result of a cell, and whether the workspace changed; a node of the version before answers fewer fields. */
export type CodeResult = Omit<z.infer<typeof codeResult>, 'truncated'> & {
  truncated?: z.infer<typeof codeResult>['truncated'];
  changed?: boolean;
};
/** An entry of a directory; `path` is relative to `/workspace`, `mtime` RFC 3339. */
export type FileEntry = z.infer<typeof fileEntry>;
/** Answer of `PUT …/files`. */
export type WrittenFile = OutputFile;

/** `GET …/terminal`: columns and rows of its window. */
export const terminalSize = z.object({
  cols: z.coerce.number().int().min(1).max(1_000),
  rows: z.coerce.number().int().min(1).max(1_000),
});
export type TerminalSize = z.infer<typeof terminalSize>;

/** `POST …/pause`. `files_only`: memory and processes are given up. */
export const pauseRequest = z.object({ files_only: z.boolean().default(false) });
/** Answer of `POST …/pause`: whether memory and processes are in the snapshot, and what it takes with the workspace. */
export interface Paused {
  memory: boolean;
  snapshot_bytes: number;
}

/** `POST …/resume`. */
/** `PATCH /v1/sandboxes/{id}`: what is given changes. */
export const changeRequest = z.object({ expires_at: z.int().optional(), egress: storedEgress.optional() });
export type ChangeRequest = z.input<typeof changeRequest>;
export const resumeRequest = z.object({ expires_at: z.int() });
/** Answer of `POST …/resume`, and what each child of a fork says. */
export type Resumed = z.infer<typeof resumed>;

/** `POST …/fork`. */
export const forkRequest = z.object({
  children: z
    .array(z.object({ id: z.guid(), expires_at: z.int() }))
    .min(1)
    .max(5),
});
/** Answer of `POST …/fork`. */
export interface Forked {
  children: z.infer<typeof forkedSandbox>[];
}

/** The verdict of `POST /v1/scan` over the bytes of its body. */
export interface Scanned {
  verdict: z.infer<typeof scanVerdict>;
  signature?: string;
}

/** How far an image is. */
export interface ImageStatus {
  template: Template;
  state: 'absent' | 'building' | 'ready' | 'failed';
  /** 0 to 1 while it is built. */
  progress: number;
  /** The current step, or why the build failed, in one line. */
  step: string;
  digest?: string;
  bytes?: number;
}

/** `GET /v1/node`. */
export interface NodeStatus {
  /** Stays the same over restarts. Machines that were cloned from one image have one. */
  id: string;
  /** This process of the node: another one after each start. A node of the release before has none. */
  incarnation?: string;
  /** Those that worked on its directory before, the last one last. */
  earlier?: string[];
  /** State of each backend here; `reason` says what to do where it cannot run. */
  backends: Record<Backend, { available: boolean; reason?: string }>;
  images: ImageStatus[];
  /** Sandboxes that may run at once, and how many do, the warm ones that wait not among them. */
  slots: { total: number; used: number };
}

/** Codes of sandboxd's refusals: `{ error: { code, message } }` with the status here. */
export const nodeErrors = {
  bad_request: 400,
  /** A file, a port or a route; of the sandbox itself it is `no_sandbox`. */
  not_found: 404,
  no_sandbox: 404,
  sandbox_busy: 409,
  sandbox_not_running: 409,
  /** The installation has told its turns, and who asks has not: a copy of it, or an older release. */
  fenced: 409,
  /** A pause without `files_only`: memory cannot be saved, and the sandbox goes on. */
  memory_not_saved: 409,
  not_supported_on_v1: 409,
  workspace_too_large: 413,
  sandbox_capacity: 503,
  internal_error: 500,
} as const;
export type NodeErrorCode = keyof typeof nodeErrors;

/** The error body of sandboxd; `retry_after_s` with `sandbox_capacity`. */
export interface NodeErrorBody {
  error: { code: NodeErrorCode; message: string; retry_after_s?: number };
}
