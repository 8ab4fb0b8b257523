import { z } from 'zod';
import { dateTime, text, uuid } from './fields.ts';

/** Where a monitor is, as people see it. */
export const monitorStatuses = ['new', 'up', 'late', 'down', 'paused'] as const;

/** A monitor of a job that runs elsewhere (document 2, Heartbeat monitor). */
export const heartbeat = z
  .object({
    id: uuid,
    name: z.string(),
    slug: z.string().optional().describe("Its name under the account's ping key"),
    period_s: z
      .int()
      .describe('With `cron`: seconds from the next expected success to the one after it, 60 to 2592000'),
    cron: z.string().nullable().describe('When successes are expected, in `tz`; null: one each `period_s`'),
    grace_s: z.int(),
    tz: z.string().optional(),
    status: z.enum(monitorStatuses),
    tags: z.array(z.string()).describe('Words by which its list is filtered'),
    expected_at: dateTime
      .optional()
      .describe('By when a success is expected, unless it is down or paused: `late` from then on'),
    down_since: dateTime.optional().describe('Of one that is down'),
    paused_until: dateTime.optional().describe('Of one that is paused and goes on by itself'),
    muted_until: dateTime
      .optional()
      .describe('Nobody is told before this that it is down; one that still is is told of again then'),
    days: z
      .string()
      .optional()
      .describe(
        'When `days` was asked for: a letter for each day in UTC, today last, of the worst that it had: `d` down, `l` late, ' +
          '`u` up, `n` new, or before its states were kept, `p` paused',
      ),
    last_ping_at: dateTime.optional(),
    last_start_at: dateTime.optional(),
    last_exit_code: z.int().optional(),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Heartbeat' });

/** Words of its owner by which a list is narrowed. Repeats are dropped. */
export const monitorTag = text(40).trim().min(1);
/** Tags of a monitor. */
export const monitorTags = z.array(monitorTag).max(10);

/** A ping as it is listed. */
export const pingRecord = z
  .object({
    kind: z.enum(['success', 'start', 'fail', 'log', 'exit']),
    at: dateTime,
    exit_code: z.int().optional(),
    rid: uuid.optional(),
    /** First 10,000 bytes, as UTF-8. */
    body: z.string().optional(),
    /** How many identical successes this stands for. */
    count: z.int(),
  })
  .meta({ id: 'Ping' });

/** A ping, or a change of status. */
export const monitorLogEntry = z
  .object({
    at: dateTime,
    kind: z.enum(['ping', 'flip']),
    ping: pingRecord.optional(),
    from: z.enum(monitorStatuses).optional().describe('Of a flip'),
    to: z.enum(monitorStatuses).optional().describe('Of a flip'),
  })
  .meta({ id: 'HeartbeatLogEntry' });

/** Days of which a list says how they were. */
export const dayCount = z
  .string()
  .regex(/^\d{1,2}$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int().min(1).max(90))
  .optional()
  .describe('1 to 90: adds `days` to each monitor') as unknown as z.ZodOptional<z.ZodType<number, number>>;
