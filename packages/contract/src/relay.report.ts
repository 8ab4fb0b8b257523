import { z } from 'zod';
import { epochMs } from './fields.ts';

/** Most characters of a name or path: a line stays under its 64 KiB. */
const name = z.string().max(1_000);
const port = z.int().min(1).max(65_535);
const count = z.int().nonnegative();

/** Most items of each list of a report; a daemon leaves out the rest. */
export const reportBounds = { listeners: 256, worktrees: 32, locks: 64, provisioned: 200, lineBytes: 65_536 } as const;

/**
 * One line of the report that a daemon writes on `GET /report` of its tunnel (design: environments): JSON of at most
 * 64 KiB and a line feed, each 10 s, and at once when git's HEAD or index changed.
 */
export const relayReport = z.object({
  /** Greater than that of every line before, those of an earlier connection included. */
  seq: z.int().nonnegative(),
  /** When somebody last worked here: bytes of clients, terminals, runs, git's HEAD. Null: not since the daemon started. */
  activity: epochMs.nullable(),
  /** TCP ports that a client can reach through the tunnel. */
  listeners: z
    .array(
      z.object({
        port,
        /** Null when the daemon may not see whose it is. */
        pid: z.int().nullable(),
        process: name.nullable(),
      }),
    )
    .max(reportBounds.listeners),
  /** Of the first root; null when it is in no repository. */
  git_state: z
    .object({
      /** Null when HEAD is detached. */
      branch: name.nullable(),
      /** Untracked files count. */
      dirty: z.boolean(),
      /** Commits that the upstream lacks; 0 without an upstream. */
      ahead: count,
      /** Commits that only the upstream has; 0 without an upstream. */
      behind: count,
      /** Those inside of the roots. */
      worktrees: z
        .array(z.object({ path: name, branch: name.nullable(), dirty: z.boolean() }))
        .max(reportBounds.worktrees),
    })
    .nullable(),
  /** Locks that are held. */
  locks: z
    .array(
      z.object({
        name,
        /** A process as a person reads it; null when nobody can say. */
        holder: name.nullable(),
        /** When it was taken, or first seen held. */
        since: epochMs,
      }),
    )
    .max(reportBounds.locks),
  daemon: z.object({
    daemon_version: z.string().max(64),
    os: z.string().max(200),
    arch: z.string().max(64),
    /** Functions of the tunnel that the machine has now, such as `terminal`, `ports`, `git` and `users`. */
    capabilities: z.array(z.string().max(64)).max(32),
  }),
  /** Linux users of members that are here with their key (`POST /users` of the tunnel). */
  provisioned: z.array(z.string().max(32)).max(reportBounds.provisioned),
  /** What the host lets in, by its own policy file. */
  policy: z.object({
    terminal: z.enum(['allow', 'ask', 'refuse']),
    ports: z.enum(['published', 'loopback', 'refuse']),
  }),
});

/** One line of a daemon's report. */
export type RelayReport = z.output<typeof relayReport>;
