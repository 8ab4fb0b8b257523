import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, text, uuid } from './fields.ts';

/** Codes of sandboxes' own (document 3, Errors, Limits). */
export const sandboxErrors = {
  invalid_ttl: { status: 400, type: 'invalid_request_error' },
  invalid_count: { status: 400, type: 'invalid_request_error' },
  insufficient_balance: { status: 402, type: 'permission_error' },
  sandbox_busy: { status: 409, type: 'conflict_error' },
  sandbox_not_running: { status: 409, type: 'conflict_error' },
  memory_not_saved: { status: 409, type: 'conflict_error' },
  command_interrupted: { status: 409, type: 'conflict_error' },
  not_supported_on_v1: { status: 409, type: 'conflict_error' },
  not_supported_on_v2: { status: 409, type: 'conflict_error' },
  workspace_too_large: { status: 413, type: 'invalid_request_error' },
  sandbox_concurrency_limit: { status: 429, type: 'rate_limit_error' },
  sandbox_paused_limit: { status: 429, type: 'rate_limit_error' },
  sandbox_daily_limit: { status: 429, type: 'rate_limit_error' },
  sandbox_capacity: { status: 503, type: 'api_error' },
} as const satisfies Record<string, ErrorKind>;

/** Common part of every sandbox route (document 3, Authentication 1). */
export const onSandboxes = { auth: 'key', toolLevel: 'l3_sandbox' } as const;

export const sandboxStates = ['running', 'paused', 'stopped', 'expired', 'destroyed'] as const;
/** How a sandbox is isolated: `v2` gVisor with memory snapshots, `v1` namespaces through bubblewrap. */
export const backend = z.enum(['v1', 'v2']);
/** Root file systems. `v1`: also without gVisor; `warm`: restored sandboxes of it wait for their first user. */
export const templates = {
  'svc-base': { v1: true, warm: true },
  'office-acte': { v1: false, warm: false },
  desktop: { v1: false, warm: false },
} as const satisfies Record<string, { v1: boolean; warm: boolean }>;
export type Template = keyof typeof templates;
/** Default template of a sandbox. */
export const defaultTemplate = 'svc-base' satisfies Template;
/** Every template, in the order of the table. */
export const templateNames = Object.keys(templates) as [Template, ...Template[]];
export const template = z.enum(templateNames);

/** Names that mean something only inside a network. */
const internalSuffix =
  /(?:^|\.)(?:localhost|localdomain|internal|intranet|local|lan|home|corp|private|home\.arpa|arpa|onion)$/;
const hostName = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const domain = text(253)
  .toLowerCase()
  .refine((name) => hostName.test(name), 'must be a host name such as example.com or *.example.com, not an address')
  .refine((name) => !internalSuffix.test(name), 'must not have an internal suffix');

/** Registries of packages whose hosts go by one name. */
export const egressPreset = z.enum(['pypi', 'npm']);
const egressWith = <D extends z.ZodType<string[]>>(domains: D) =>
  z.discriminatedUnion('mode', [
    z.object({ mode: z.literal('none') }),
    z.object({ mode: z.literal('allowlist'), domains }),
    z.object({ mode: z.literal('preset'), preset: egressPreset }),
  ]);
/** Where code inside may connect to (document 3, Sandbox; Limits: 20 host names). */
export const egress = egressWith(z.array(domain).min(1).max(20));
/** The same as it is kept and answered. */
export const storedEgress = egressWith(z.array(z.string()));

/** The caller's labels: at most 64, names of 1 to 128 and values of at most 1,024 characters. */
export const metadata = z
  .record(text(128).min(1), text(1024))
  .refine((labels) => Object.keys(labels).length <= 64, 'at most 64 labels');

/** A process that was there when a snapshot was made, and ended right after it was restored. */
export const endedProcess = z
  .object({
    pid: z.int(),
    command: z.string(),
    signal: z.string().optional().describe('What ended it, such as `SIGSEGV`; absent when only its parent knows'),
  })
  .meta({ id: 'EndedProcess' });

/** An isolated `/workspace` with the processes that run in it (document 3, Sandbox). */
export const sandbox = z
  .object({
    id: uuid,
    object: z.literal('sandbox'),
    status: z.enum(sandboxStates),
    backend,
    restored: z.boolean().optional().describe('v2: it started from a warm snapshot of its template'),
    template,
    egress: storedEgress,
    created_at: dateTime,
    expires_at: dateTime.describe('While it is paused: when it would end if it were resumed now'),
    last_exec_at: dateTime.nullable(),
    metadata: z.record(z.string(), z.string()),
    usage: z.object({ exec_count: z.int(), exec_seconds: z.number() }),
    ended_after_resume: z
      .array(endedProcess)
      .optional()
      .describe(
        'v2, while it runs: processes of its snapshot that crashed or went within 5 s of the restore, at most 20; told some seconds later, absent when there were none',
      ),
    parent_id: uuid.optional().describe('The sandbox that it was forked from'),
    name: z.string().optional().describe('Its label `name`'),
    cost_micro_eur: z
      .int()
      .describe(
        'What it has cost at the full price, before free hours, of the last 40 days; 0 where nothing is charged',
      ),
  })
  .meta({ id: 'Sandbox' });

/** What became of a sandbox (additive). */
export const sandboxEvent = z
  .object({
    id: z.string(),
    at: dateTime,
    kind: z.enum(['created', 'paused', 'resumed', 'forked', 'extended', 'stopped', 'failed']),
    detail: z
      .record(z.string(), z.unknown())
      .describe(
        'Of `stopped` a `reason`: `expired`, `destroyed`, `ended`, `node_lost` or `suspended`; of `failed` `what` did: `pause` or ' +
          '`resume`, and the `code` and `message` that its caller was answered, where there was one; of `forked` the `child_id`',
      ),
  })
  .meta({ id: 'SandboxEvent' });

/** Seconds; the handler answers `invalid_ttl` for one out of range. */
export const ttlSeconds = (minimum: number, maximum: number) => z.int().meta({ minimum, maximum });
export const timeoutSeconds = z.int().min(1).max(900).default(120);

/** Languages of a command's `code`. */
export const language = z.enum(['python', 'bash']);

const envName = text(256)
  .min(1)
  .refine((name) => !/^(?:SVC|CLOUD)_/.test(name), 'must not start with SVC_ or CLOUD_')
  .refine((name) => !name.includes('='), 'must not contain =');
const inputPath = text(1024)
  .min(1)
  .refine(
    (path) => !path.startsWith('/') && path.split('/').every((part) => !['', '.', '..'].includes(part)),
    'must be a relative path below /workspace/in, without empty parts, . and ..',
  );

/** A command: exactly one of `cmd`, `shell`, and `language` with `code` (document 3, Exec request). */
export const commandFields = {
  cmd: z
    .array(text(131_072))
    .min(1)
    .max(256)
    .refine(([program]) => program !== '', { path: [0], message: 'must not be empty: it names the program' })
    .optional()
    .describe('Program and arguments; no shell'),
  shell: text(65_536).min(1).optional().describe('Run with a login bash'),
  language: language.optional(),
  code: text(1_048_576).min(1).optional(),
  env: z
    .record(envName, text(131_072))
    .refine((env) => Object.keys(env).length <= 64, 'at most 64 entries')
    .default({}),
  cwd: text(1024)
    .refine(isInWorkspace, 'must be inside /workspace')
    .optional()
    .describe('Inside /workspace, which is its default'),
  timeout_seconds: timeoutSeconds,
  stdin: text(1_048_576).optional(),
  inputs: z
    .array(z.object({ path: inputPath, url: text(4096).min(1) }))
    .max(50)
    .default([])
    .describe('Fetched and written read-only under /workspace/in before the command'),
};

/** The rule over the fields of a command. */
export const isOneCommand = (body: { cmd?: unknown; shell?: unknown; language?: unknown; code?: unknown }): boolean => {
  const given = [body.cmd, body.shell, body.language ?? body.code].filter((value) => value !== undefined);
  return given.length === 1 && (body.language === undefined) === (body.code === undefined);
};
export const oneCommand = 'exactly one of cmd, shell, or language with code is required';

/** By its text; symbolic links are followed and judged where the command runs. */
function isInWorkspace(path: string): boolean {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `/workspace/${path}`).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts[0] === 'workspace';
}

/** A file that a command wrote below `/workspace/out`; `path` is relative to `/workspace`. */
export const outputFile = z.object({ path: z.string(), sha256: z.string(), bytes: z.int() });
/** Receipt of a run: its image, input, command and result (document 3, Exec result). */
export const receipt = z
  .object({
    image_digest: z.string(),
    template,
    input_sha256: z
      .string()
      .describe('Over the bytes of stdin, then path, NUL, hex SHA-256 and line feed of each input'),
    command_sha256: z
      .string()
      .describe(
        'Of the request without stdin and inputs, its defaults filled in (`env` {}, `timeout_seconds` 120), as JSON with sorted keys and no spaces',
      ),
    outputs: z.array(outputFile).describe('Files below /workspace/out that the command wrote'),
    generation_before: z.int(),
    generation_after: z.int(),
  })
  .meta({ id: 'Receipt' });

/** An output of a command. */
const stream = z.enum(['stdout', 'stderr']);
const truncated = z.array(stream).describe('The outputs that were cut at 1 MiB');

/** The antivirus' verdict on a file. */
export const scanVerdict = z.enum(['clean', 'infected', 'error']);
/** A file of `/workspace/out`, scanned and stored (document 3, Artifact). */
export const artifact = z
  .object({
    id: uuid,
    path: z.string(),
    bytes: z.int(),
    mime: z.string(),
    sha256: z.string(),
    scan: scanVerdict,
    url: z.string().optional().describe('Signed link, valid 1 h; present only when the scan is clean'),
    expires_at: dateTime,
  })
  .meta({ id: 'Artifact' });

export const execResult = z
  .object({
    exit_code: z
      .int()
      .nullable()
      .describe('128 + n when ended by signal n; null on timeout or when it could not start'),
    stdout: z.string(),
    stderr: z.string(),
    truncated,
    timed_out: z.boolean(),
    duration_ms: z.int(),
    receipt,
  })
  .meta({ id: 'ExecResult' });

/** Frames of an exec (document 3, Events): `start`, chunks, then one `exit` or `error`. */
export const execFrame = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('start') }),
    z.object({ type: stream, data: z.string() }),
    z.object({ type: z.literal('truncated'), stream }),
    z.object({
      type: z.literal('exit'),
      exit_code: z.int().nullable(),
      timed_out: z.boolean(),
      duration_ms: z.int(),
      receipt,
    }),
    z.object({ type: z.literal('error'), code: z.string(), message: z.string() }),
  ])
  .meta({ id: 'ExecFrame' });

/** The frames that tell a whole result again, for a repeat of an idempotent exec. */
export function framesOf(result: z.output<typeof execResult>): z.input<typeof execFrame>[] {
  const { stdout, stderr, truncated: cut, ...exit } = result;
  // One that an older version stored does not say.
  const cuts = (name: 'stdout' | 'stderr') =>
    (cut as typeof cut | undefined)?.includes(name) ? [{ type: 'truncated' as const, stream: name }] : [];
  return [
    { type: 'start' },
    ...(stdout === '' ? [] : [{ type: 'stdout' as const, data: stdout }]),
    ...cuts('stdout'),
    ...(stderr === '' ? [] : [{ type: 'stderr' as const, data: stderr }]),
    ...cuts('stderr'),
    { type: 'exit', ...exit },
  ];
}

/** Result of a cell of the Python kernel. */
export const codeResult = z
  .object({
    stdout: z.string(),
    stderr: z.string(),
    truncated: z
      .array(z.enum(['stdout', 'stderr', 'result', 'error']))
      .describe('What was cut: an output at 1 MiB, the result or the text of an error at 64 KiB'),
    result: z.string().nullable().describe('`repr` of the last expression, at most 64 KiB'),
    error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
    duration_ms: z.int(),
    execution_count: z.int(),
    kernel_restarted: z
      .boolean()
      .describe('Every variable is gone: this cell ended the kernel, or it was lost since the cell before'),
    restart_reason: z.string().optional().describe('Why, when `kernel_restarted`'),
    images: z.array(z.string()).describe('Figures that the cell drew, relative to /workspace'),
  })
  .meta({ id: 'CodeResult' });

/** How a sandbox came up from a snapshot: `restored: false` is a cold start with the files intact. */
export const resumed = z.object({ restored: z.boolean(), ready_ms: z.number() });
/** A child of a fork; `error` when it could not be started. */
export const forkedSandbox = z
  .object({ id: uuid, ...resumed.shape, error: z.string().optional() })
  .meta({ id: 'ForkedSandbox' });

/** An entry of a directory; `path` is relative to `/workspace`. */
export const fileEntry = z.object({
  path: z.string(),
  bytes: z.int(),
  type: z.enum(['file', 'directory', 'symlink', 'other']),
  mtime: dateTime,
});
