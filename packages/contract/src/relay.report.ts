import { z } from 'zod';
import { text } from './fields.ts';

/** Of a clock that may be wrong: to the year 2286. */
const epoch = z.int().min(0).max(9_999_999_999_999);
const branch = text(300).nullable();

/**
 * What the daemon of an environment says of its machine every 10 s, as one line of JSON of at most 64 KiB (design: environments,
 * The tunnel). `seq` grows: a smaller one came late and is dropped.
 */
export const relayReport = z.object({
  seq: z.int().nonnegative(),
  activity: epoch.nullable(),
  listeners: z
    .array(z.object({ port: z.int().min(1).max(65_535), pid: z.int().nullable(), process: text(100).nullable() }))
    .max(256),
  git_state: z
    .object({
      branch,
      dirty: z.boolean(),
      ahead: z.int().nonnegative(),
      behind: z.int().nonnegative(),
      worktrees: z.array(z.object({ path: text(1_000), branch, dirty: z.boolean() })).max(32),
    })
    .nullable(),
  locks: z.array(z.object({ name: text(200), holder: text(200).nullable(), since: epoch })).max(64),
  daemon: z.object({
    daemon_version: text(60),
    os: text(60),
    arch: text(60),
    capabilities: z.array(text(60)).max(20),
  }),
  policy: z.object({
    terminal: z.enum(['allow', 'ask', 'refuse']),
    ports: z.enum(['published', 'loopback', 'refuse']),
  }),
});
