import { z } from 'zod';

/** Text that a system call takes: not empty, no NUL. */
export const systemText = z
  .string()
  .min(1)
  .refine((value) => !value.includes('\u0000'), 'must not hold NUL');

/** How bytes travel as text. */
const encoding = z.enum(['utf8', 'base64']);
/** Kind of a directory entry. */
const fileType = z.enum(['file', 'directory', 'symlink', 'other']);
const permissions = z.union([
  z.int().min(0).max(0o777),
  z
    .string()
    .regex(/^0?[0-7]{3}$/, 'must be octal, such as "0644"')
    .transform((text) => Number.parseInt(text, 8))
    .pipe(z.int()),
]);
/** Relative to the first root of the host, or absolute. */
const path = systemText;
const bytes = z.int().nonnegative();
const count = z.int().nonnegative();

/**
 * The operations of the host daemon: `op` and `args` of an `exec` frame, and `result` of its answer (document 1, Hosts;
 * design: hosts). The gateway passes both on unread, so that a host may serve more than these. A host answers
 * `bad_args: …` for arguments that do not fit.
 */
export const hostOps = {
  /**
   * Runs a command line in a process group of its own, which is killed whole on timeout and cancel; what it leaves in the
   * background when it ends by itself stays.
   */
  shell: {
    args: z.object({
      command: systemText,
      cwd: path.optional(),
      env: z.record(z.string().regex(/^[^=\0]+$/), z.string().regex(/^[^\0]*$/)).optional(),
      timeout_ms: z.int().positive().max(2_147_483_647).optional(),
      stdin: z.base64().max(1_398_104).optional().describe('Standard input in base64, at most 1 MiB'),
    }),
    result: z.object({
      /** 128 + n when signal n ended the command; null on timeout. */
      exit_code: z.int().nullable(),
      stdout: z.string(),
      stderr: z.string(),
      timed_out: z.boolean(),
      /** How many processes ended with its time, its shell among them; where the host's system tells. */
      ended_processes: z.int().optional(),
      /** A stream is longer than what is answered of it. */
      truncated: z.boolean(),
    }),
  },
  /** Reads `length` bytes from `offset`. Without `encoding`, text is answered as utf8 and everything else as base64. */
  read_file: {
    args: z.object({
      path,
      offset: z.int().nonnegative().default(0),
      length: z.int().nonnegative().optional(),
      encoding: encoding.optional(),
    }),
    result: z.object({
      /** With symbolic links followed. */
      path: z.string(),
      content: z.string(),
      encoding,
      /** How many bytes of the file `content` stands for. */
      bytes,
      /** Of the whole file. */
      size: bytes,
      /** The file goes on at `offset` plus `bytes`. */
      truncated: z.boolean(),
    }),
  },
  /** Replaces or makes a file: at every instant it holds either its old content or all of the new one. */
  write_file: {
    args: z.object({
      path,
      content: z.string(),
      encoding: encoding.default('utf8'),
      /** A number or octal text; default that of the file replaced. */
      mode: permissions.optional(),
      create_dirs: z.boolean().default(false),
    }),
    result: z.object({ path: z.string(), bytes, sha256: z.string() }),
  },
  /** The entries of a directory by name, symbolic links not followed; at most 10,000, then `truncated`. */
  list_dir: {
    args: z.object({ path: path.default('.') }),
    result: z.object({
      entries: z.array(z.object({ name: z.string(), type: fileType, bytes, mtime_ms: z.int() })),
      truncated: z.boolean(),
    }),
  },
  /** The file or directory at a path, symbolic links followed. */
  stat: {
    args: z.object({ path }),
    result: z.object({
      path: z.string(),
      type: fileType,
      bytes,
      mtime_ms: z.int(),
      /** The twelve permission bits. */
      mode: z.int(),
    }),
  },
  /** Branch, changes and worktrees of a git repository. */
  git_state: {
    args: z.object({ path: path.default('.') }),
    result: z.object({
      /** Null when HEAD is detached. */
      branch: z.string().nullable(),
      /** Untracked files count. */
      dirty: z.boolean(),
      /** Commits that the upstream lacks; null without an upstream. */
      ahead: count.nullable(),
      /** Commits that only the upstream has; null without an upstream. */
      behind: count.nullable(),
      worktrees: z.array(
        z.object({
          path: z.string(),
          branch: z.string().nullable(),
          /** Null before the first commit. */
          head: z.string().nullable(),
        }),
      ),
    }),
  },
  /** Who the host is and what it does. */
  info: {
    args: z.object({}),
    result: z.object({
      name: z.string(),
      hostname: z.string(),
      platform: z.string(),
      os: z.string(),
      arch: z.string(),
      daemon_version: z.string(),
      /** Version of Node.js. */
      node: z.string(),
      /** How long the machine has been up. */
      uptime_s: z.int(),
      cpus: z.int(),
      memory_bytes: bytes,
      roots: z.array(z.string()),
      /** The operations that the policy does not refuse. */
      ops: z.array(z.string()),
      capabilities: z.array(z.string()),
    }),
  },
} as const satisfies Record<string, { args: z.ZodObject; result: z.ZodObject }>;

/** The name of an operation: `op` of an `exec` frame. */
export type HostOp = keyof typeof hostOps;
/** Every operation, in the order of the table. */
export const hostOpNames = Object.keys(hostOps) as [HostOp, ...HostOp[]];
/** The arguments of an operation, with its defaults filled in. */
export type HostOpArgs<N extends HostOp> = z.output<(typeof hostOps)[N]['args']>;
/** The `result` of an operation that succeeded. */
export type HostOpResult<N extends HostOp> = z.output<(typeof hostOps)[N]['result']>;
