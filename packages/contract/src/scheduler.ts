import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { commaList, dateTime, instant, nextCursor, page, resettable, text, uuid } from './fields.ts';
import { bytes, bytesOrEvents, json, route } from './route.ts';
import { hostKinds, hostTags, run, runDetail, runList, runPage, runStates, schedulerHost } from './scheduler.shapes.ts';

const byId = z.object({ id: uuid });
const optionalDevice = z.object({ 'x-svc-device': uuid.optional() });
const attempt = z.int().min(1).max(1_000_000);
/** Tail of a run's output; longer text is refused, so that a host cuts it where it makes sense. */
const logTail = text(65_536);
const cost = z.int().nonnegative().max(1_000_000_000_000);
/** A whole number of a query: its digits. */
const position = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int().min(0)) as unknown as z.ZodType<number, number> & {
  default(value: number): z.ZodDefault<z.ZodType<number, number>>;
};
const endedProcesses = z.int().min(1).max(1_000_000);
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
    notIdempotent: 'a run that its host never heard of goes on when its lease ends',
    scopes: ['scheduler:serve'],
    headers: optionalDevice,
    takes: json(
      z.object({
        device_id: uuid.optional().describe('In place of x-svc-device'),
        kinds: z.array(z.enum(hostKinds)).max(4).optional().describe('default: all'),
        tags: hostTags.optional().describe('Tags that the host has by itself'),
        again: z
          .boolean()
          .optional()
          .describe('Something was approved on the host: offer what it handed back once more'),
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
            ignore: z.array(z.string()).optional().describe('Of its schedule, for `output_hash`'),
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
    notIdempotent: 'it renews a lease',
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
    notIdempotent: 'the first result of an attempt counts',
    scopes: ['scheduler:serve'],
    whileDraining: true,
    params: byId,
    headers: optionalDevice,
    takes: json(
      z.object({
        attempt,
        ok: z.boolean(),
        exit_code: exitCode.optional(),
        ended_processes: endedProcesses.optional().describe('By its time or a cancel, its own among them'),
        error: text(4_000).optional(),
        log_tail: logTail.optional(),
        cost_micro_usd: cost.optional(),
        session_id: uuid.optional(),
        not_started: z
          .enum(['not_approved'])
          .optional()
          .describe(
            'The host did not start it: a person at the host has to approve it there. The run waits, and the account is told',
          ),
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
    idempotent: true,
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
    idempotent: true,
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
      ...runPage,
      state: commaList(runStates).optional(),
      schedule_id: uuid.optional().describe('Runs of one schedule, a deleted one too'),
      device_id: uuid.optional().describe('Runs whose `device_id` this is: the host that had them last'),
      from: instant.optional().describe('Created at this instant or later'),
      to: instant.optional().describe('Created before this instant'),
    }),
    answers: json(runList),
  }),
  getRun: route({
    method: 'GET',
    path: '/v1/schedule-runs/{id}',
    summary: 'One run',
    auth: 'key',
    params: byId,
    answers: json(runDetail),
  }),
  // Not in the documents.
  rerun: route({
    method: 'POST',
    path: '/v1/schedule-runs/{id}/rerun',
    summary: 'Run the schedule of a run that is over again, now, as `POST /v1/schedules/{id}/run` does',
    auth: 'key',
    idempotent: true,
    scopes: ['schedules'],
    params: byId,
    answers: json(z.object({ queued: z.boolean(), run_id: uuid.optional() }), 202),
    errors: ['task_not_confirmable'],
  }),
  log: route({
    method: 'GET',
    path: '/v1/schedule-runs/{id}/log',
    summary: 'What a run wrote, as text; with `Accept: text/event-stream` as it comes, until the run is over',
    auth: 'key',
    params: byId,
    query: z.object({ from: position.default(0).describe('First byte that is wanted') }),
    answers: bytesOrEvents('text/plain', {
      log: z.object({ from: z.int().describe('Bytes of the log before this'), text: z.string() }),
      end: z.object({ state: z.string(), bytes: z.int() }),
    }),
  }),
  appendLog: route({
    method: 'POST',
    path: '/v1/schedule-runs/{id}/log',
    summary: 'Add to what an attempt wrote; 10 MiB of a run are kept, for 30 days',
    auth: 'key',
    notIdempotent: '`offset` says where it goes',
    scopes: ['scheduler:serve'],
    whileDraining: true,
    params: byId,
    headers: optionalDevice,
    query: z.object({
      attempt: position.describe('The attempt that wrote it'),
      offset: position.describe('How many bytes this attempt wrote before'),
    }),
    takes: bytes(1024 * 1024),
    answers: json(
      z.object({
        bytes: z.int().describe('How many bytes of the attempt are here: where to go on'),
        full: z.boolean().describe('No more is kept'),
      }),
    ),
    errors: ['lease_held', 'quota_exceeded'],
  }),
  hosts: route({
    method: 'GET',
    path: '/v1/scheduler/hosts',
    summary: 'Machines that claim runs',
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ hosts: z.array(schedulerHost), ...nextCursor })),
  }),
  // Not in the documents.
  getHost: route({
    method: 'GET',
    path: '/v1/scheduler/hosts/{id}',
    summary: 'One machine that claims runs',
    auth: 'key',
    params: byId,
    answers: json(schedulerHost),
  }),
  updateHost: route({
    method: 'PATCH',
    path: '/v1/scheduler/hosts/{id}',
    summary: 'Rename, tag, pause or limit a machine',
    auth: 'key',
    params: byId,
    takes: json(
      z.object({
        name: resettable(text(120).min(1)).describe("`null`: the device's name"),
        tags: resettable(hostTags).describe('Replaces the tags that the host reports; `null`: those again'),
        paused: z.boolean().optional(),
        max_parallel: resettable(z.int().min(1).max(10_000)).describe('`null`: the host decides'),
      }),
    ),
    answers: json(schedulerHost),
  }),
  // Not in the documents.
  removeHost: route({
    method: 'DELETE',
    path: '/v1/scheduler/hosts/{id}',
    summary: 'Forget a machine, with the commands approved for it; its device stays',
    auth: 'key',
    params: byId,
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
  }),
  reportNative: route({
    method: 'POST',
    path: '/v1/scheduler/native-runs',
    summary: "Report a slot that the operating system's scheduler ran while the platform was out of reach",
    auth: 'key',
    notIdempotent: 'a slot has one run: a repeat answers it',
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
        ended_processes: endedProcesses.optional(),
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
