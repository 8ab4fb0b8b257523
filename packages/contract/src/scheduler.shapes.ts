import { z } from 'zod';
import { dateTime, limit, nextCursor, numberCursor, text, uuid } from './fields.ts';
import { kinds } from './schedules.shapes.ts';

/** States of a run; the last six are final (design: schedules, Runs). */
export const runStates = [
  'pending',
  'awaiting_approval',
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'skipped',
  'cancelled',
  'expired',
] as const;

/** Why a pending run was not started yet, in the order in which it is looked at. */
export const waitReasons = [
  'account_paused',
  'back_off',
  'earlier_run',
  'cloud',
  'starting',
  'no_host',
  'tags',
  'host_paused',
  'not_approved',
  'host_busy',
] as const;

/** One run of a schedule (document 2, Run). */
export const run = z
  .object({
    id: uuid,
    schedule_id: uuid,
    scheduled_for: dateTime,
    state: z.enum(runStates),
    attempt: z.int().min(1),
    device_id: uuid.optional(),
    started_at: dateTime.optional(),
    finished_at: dateTime.optional(),
    exit_code: z.int().optional(),
    ended_processes: z
      .int()
      .optional()
      .describe(
        'How many processes ended with it when its time was over or it was cancelled, its own among them; where the host tells',
      ),
    cost_micro_usd: z.int(),
    log_tail: z.string().optional(),
    session_id: uuid.optional(),
    error: z.string().optional(),
    waiting_for: z
      .enum(waitReasons)
      .optional()
      .describe(
        'Of a pending run in a list or by id: what it waits for. `account_paused`: the account may not run anything. ' +
          '`back_off`: a retry. `earlier_run`: another run of its schedule. `cloud`: a place in the cloud. `starting`: the machine of an ' +
          'environment that is on its way. `no_host`: no ' +
          'machine for it is online. `tags`: none that is has its tags. `host_paused`: those are paused. `not_approved`: ' +
          'none of those has approved it. `host_busy`: one that may take it',
      ),
    waiting_on: z
      .array(uuid)
      .optional()
      .describe(
        'Devices whose approval, pause or load it waits for, or whose return when it may go to one alone; 10 at most',
      ),
    created_at: dateTime,
  })
  .meta({ id: 'Run' });

/** How an attempt of a run stands, or ended. */
export const attemptStates = [
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'cancelled',
  'lost',
  'handed_back',
  'refused',
] as const;

/** One run with its work and its attempts (additive). */
export const runDetail = run
  .extend({
    name: z.string().describe('Of its schedule when the run was made or last changed'),
    kind: z.enum(kinds),
    spec: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Of a run that is not over; header values are hidden. A run that is over keeps none'),
    command_hash: z.string().optional().describe('Of a shell command'),
    timeout_s: z.int(),
    attempts: z
      .array(
        z.object({
          attempt: z.int().min(1),
          device_id: uuid.optional().describe('The host; absent in the cloud'),
          state: z
            .enum(attemptStates)
            .describe(
              '`lost`: its lease ran out. `handed_back`: the host gave it back. `refused`: it is not approved on the host',
            ),
          started_at: dateTime,
          finished_at: dateTime.optional(),
          error: z.string().optional(),
          ended_processes: z.int().optional().describe('As of the run, of this attempt'),
        }),
      )
      .describe('The last 10, oldest first'),
  })
  .meta({ id: 'RunDetail' });

/** Query of a list of runs: newest first, 50 without a `limit`. */
export const runPage = {
  limit: limit(200, 50),
  cursor: numberCursor.describe('`next_cursor` of the page before'),
};
/** A page of runs. */
export const runList = z.object({ runs: z.array(run), ...nextCursor });

/** Work that a host may take; chains belong to the cloud. */
export const hostKinds = ['agent', 'shell', 'http', 'phone_action'] as const;
/** Tags of a machine. */
export const hostTags = z.array(text(60).min(1)).max(50);

/** A machine that claims runs. */
export const schedulerHost = z
  .object({
    id: uuid,
    device_id: uuid,
    name: z.string(),
    platform: z.string(),
    tags: z.array(z.string()),
    kinds: z.array(z.enum(hostKinds)),
    online: z.boolean().describe('It claimed, or held a run, in the last 45 s'),
    last_seen: dateTime,
    paused: z.boolean(),
    max_parallel: z.int().optional().describe('Unset: the host decides'),
    running: z.int(),
  })
  .meta({ id: 'SchedulerHost' });
