import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, limit, nextCursor, page, text, uuid } from './fields.ts';
import { json, route } from './route.ts';
import { instant } from './schedules.shapes.ts';

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
    cost_micro_usd: z.int(),
    log_tail: z.string().optional(),
    session_id: uuid.optional(),
    error: z.string().optional(),
    created_at: dateTime,
  })
  .meta({ id: 'Run' });

/** Work that a host may take; chains belong to the cloud. */
export const hostKinds = ['agent', 'shell', 'http', 'phone_action'] as const;
const tags = z.array(text(60).min(1)).max(50);

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

const byId = z.object({ id: uuid });
const optionalDevice = z.object({ 'x-svc-device': uuid.optional() });
const attempt = z.int().min(1).max(1_000_000);
/** Tail of a run's output; longer text is refused, so that a host cuts it where it makes sense. */
const logTail = text(65_536);
const cost = z.int().nonnegative().max(1_000_000_000_000);
const exitCode = z.int().min(-2_147_483_648).max(4_294_967_295);

/** Codes of runs' own. */
export const runErrors = {
  lease_held: { status: 409, type: 'conflict_error' },
  task_not_confirmable: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** Runs and the hosts that take them (document 2, Host-side routes; design: schedules). */
export const scheduler = {
  claim: route({
    method: 'POST',
    path: '/v1/scheduler/claim',
    summary: 'Take the next run for this host, with a lease of 60 s; waits up to wait_s for one',
    auth: 'key',
    scopes: ['scheduler:serve'],
    headers: optionalDevice,
    takes: json(
      z.object({
        device_id: uuid.optional().describe('In place of x-svc-device'),
        kinds: z.array(z.enum(hostKinds)).max(4).optional().describe('default: all'),
        tags: tags.optional().describe('Tags that the host has by itself'),
        wait_s: z.number().min(0).max(25).default(0),
      }),
    ),
    answers: json(
      z.object({
        run: z
          .object({
            id: uuid,
            attempt: z.int(),
            schedule_id: uuid,
            name: z.string(),
            kind: z.enum(hostKinds),
            spec: z.record(z.string(), z.unknown()),
            scheduled_for: dateTime,
            timeout_s: z.int(),
            command_hash: z.string().optional(),
            lease_expires_at: dateTime,
          })
          .nullable(),
      }),
    ),
  }),
  heartbeat: route({
    method: 'POST',
    path: '/v1/schedule-runs/{id}/heartbeat',
    summary: 'Keep the lease of a run; `cancel` tells the host to stop it',
    auth: 'key',
    scopes: ['scheduler:serve'],
    whileDraining: true,
    params: byId,
    headers: optionalDevice,
    takes: json(z.object({ attempt, log_tail: logTail.optional(), cost_micro_usd: cost.optional() })),
    answers: json(z.object({ lease_expires_at: dateTime, cancel: z.boolean() })),
    errors: ['lease_held'],
  }),
  result: route({
    method: 'POST',
    path: '/v1/schedule-runs/{id}/result',
    summary: 'Report how an attempt ended',
    auth: 'key',
    scopes: ['scheduler:serve'],
    whileDraining: true,
    params: byId,
    headers: optionalDevice,
    takes: json(
      z.object({
        attempt,
        ok: z.boolean(),
        exit_code: exitCode.optional(),
        error: text(4_000).optional(),
        log_tail: logTail.optional(),
        cost_micro_usd: cost.optional(),
        session_id: uuid.optional(),
        output_hash: text(128).optional().describe('Hash of the whole normalised output, for notify on_change'),
      }),
    ),
    answers: json(z.object({ run })),
    errors: ['lease_held'],
  }),
  decide: route({
    method: 'POST',
    path: '/v1/schedule-runs/{id}/decision',
    summary: 'Approve or skip a run that awaits approval, from any device',
    auth: 'key',
    params: byId,
    takes: json(z.object({ decision: z.enum(['approve', 'skip']) })),
    answers: json(z.object({ run })),
    errors: ['task_not_confirmable'],
  }),
  cancel: route({
    method: 'POST',
    path: '/v1/schedule-runs/{id}/cancel',
    summary: 'Cancel a run that is not over; its host is told on the next heartbeat',
    auth: 'key',
    params: byId,
    answers: json(z.object({ run })),
    errors: ['task_not_confirmable'],
  }),
  runs: route({
    method: 'GET',
    path: '/v1/schedule-runs',
    summary: "The account's runs, newest first",
    auth: 'key',
    query: z.object({
      limit: limit(200, 50),
      state: z.enum(runStates).optional(),
    }),
    answers: json(z.object({ runs: z.array(run) })),
  }),
  hosts: route({
    method: 'GET',
    path: '/v1/scheduler/hosts',
    summary: 'Machines that claim runs',
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ hosts: z.array(schedulerHost), ...nextCursor })),
  }),
  updateHost: route({
    method: 'PATCH',
    path: '/v1/scheduler/hosts/{id}',
    summary: 'Rename, tag, pause or limit a machine',
    auth: 'key',
    params: byId,
    takes: json(
      z.object({
        name: text(120).min(1).optional(),
        tags: tags.optional().describe('Replaces the tags that the host reports'),
        paused: z.boolean().optional(),
        max_parallel: z.int().min(1).max(10_000).nullable().optional(),
      }),
    ),
    answers: json(schedulerHost),
  }),
  reportNative: route({
    method: 'POST',
    path: '/v1/scheduler/native-runs',
    summary: "Report a slot that the operating system's scheduler ran while the platform was out of reach",
    auth: 'key',
    scopes: ['scheduler:serve'],
    headers: z.object({ 'x-svc-device': uuid }),
    takes: json(
      z.object({
        schedule_id: uuid,
        scheduled_for: instant,
        started_at: instant,
        finished_at: instant,
        ok: z.boolean(),
        exit_code: exitCode.optional(),
        error: text(4_000).optional(),
        log_tail: logTail.optional(),
      }),
    ),
    answers: json(z.object({ run })),
    errors: ['lease_held'],
  }),
  fire: route({
    method: 'POST',
    path: '/v1/triggers/{trigger_id}/fire',
    summary: 'Run every enabled schedule with this event trigger',
    auth: 'key',
    idempotent: true,
    params: z.object({ trigger_id: text(120).min(1) }),
    answers: json(z.object({ queued: z.int().describe('Runs that were created') }), 202),
  }),
};
