import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import {
  afterCursor,
  commaList,
  dateTime,
  feedCursor,
  instant,
  limit,
  nextCursor,
  page,
  ready,
  text,
  uuid,
} from './fields.ts';
import { events, json, nothing, route } from './route.ts';
import { runList, runPage } from './scheduler.shapes.ts';
import { ignored, kinds, policy, seconds, specs, tag, target, trigger } from './schedules.shapes.ts';
import { gives } from './strength.ts';

const fields = {
  name: text(120).refine((value) => value.trim() !== '', 'must not be blank'),
  description: text(4_000).optional(),
  enabled: z.boolean().optional(),
  trigger,
  target: target.optional(),
  failover: z.array(z.array(tag).min(1).max(20)).max(10).optional(),
  native: z.boolean().optional(),
  policy: policy.optional(),
  misfire: z.enum(['skip', 'once', 'all_within']).optional(),
  misfire_window_min: z.int().min(1).max(10_080).optional(),
  overlap: z.enum(['skip', 'queue', 'kill']).optional(),
  timeout_s: seconds(1).optional(),
  retries: z.int().min(0).max(10).optional(),
  retry_backoff_s: seconds(1).optional(),
  late_after_s: seconds(0).optional().describe('0: never'),
  alert_on_fail: z.boolean().optional(),
  notify: z.enum(['on_failure', 'on_change', 'always', 'never']).optional(),
  ignore: ignored.optional(),
  template: text(120).optional(),
};
const variant = <K extends keyof typeof specs>(kind: K) =>
  z.object({ ...fields, kind: z.literal(kind), spec: specs[kind] });

/** A schedule as a client gives it; `kind` selects the shape of `spec` (document 2, Schedule). */
export const newSchedule = z
  .discriminatedUnion('kind', [
    variant('agent'),
    variant('shell'),
    variant('http'),
    variant('chain'),
    variant('phone_action'),
  ])
  .meta({ id: 'NewSchedule' });

type Optional = Omit<typeof fields, 'name' | 'trigger'>;
type Resettable = { [K in keyof Optional]: z.ZodNullable<Optional[K]> };
const { name, trigger: _trigger, ...optionalFields } = fields;
const resettableFields = Object.fromEntries(
  Object.entries(optionalFields).map(([field, type]) => [field, type.nullable()]),
) as unknown as Resettable;
/**
 * Any fields of a schedule; `spec` and `trigger` replace the whole of theirs, and the merged record is validated. `null`
 * sets an optional field back to its default.
 */
const scheduleChanges = z
  .object({
    ...resettableFields,
    name: name.optional(),
    trigger: trigger.optional(),
    kind: z.enum(kinds).optional(),
    spec: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'ScheduleChanges' });

const commandHash = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits');

/** A schedule (document 2, Schedule). */
export const schedule = z
  .object({
    id: uuid,
    ...fields,
    name: z.string(),
    enabled: z.boolean(),
    kind: z.enum(kinds),
    spec: z.record(z.string(), z.unknown()),
    target,
    command_hash: commandHash.optional().describe('SHA-256 of shell, cwd, command and env names; shell only'),
    next_run_at: dateTime.optional(),
    last_run_at: dateTime.optional(),
    upcoming: z.array(dateTime).describe('The next five instants, skipped days out'),
    approvals: z.array(z.object({ device_id: uuid, command_hash: commandHash, approved_at: dateTime })).optional(),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Schedule' });

const pause = z.object({
  paused: z.boolean(),
  until: dateTime.optional(),
  resume_policy: z.enum(['skip', 'backfill']).optional(),
});

const template = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  params: z.array(
    z.object({ name: z.string(), description: z.string(), required: z.boolean(), default: z.string().optional() }),
  ),
  schedule: z.record(z.string(), z.unknown()).describe('What is created when every parameter has its default'),
});

const byId = z.object({ id: uuid });

/** Codes of schedules' own. */
export const scheduleErrors = {
  hash_mismatch: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** Schedules (document 2; design: schedules). Their runs and hosts are the feature `scheduler`. */
export const schedules = {
  list: route({
    method: 'GET',
    path: '/v1/schedules',
    summary:
      "The account's schedules, newest first; with `scheduler:serve` alone, those that the calling device may run",
    auth: 'key',
    scopes: ['schedules', 'schedules:read', 'scheduler:serve'],
    query: z.object({
      ...page,
      q: text(100).optional().describe('Part of the name, in any case'),
      kind: commaList(kinds).optional(),
      enabled: z
        .enum(['true', 'false'])
        .transform((value) => value === 'true')
        .optional(),
    }),
    answers: json(z.object({ schedules: z.array(schedule), pause, ...nextCursor })),
  }),
  // Not in the documents.
  upcoming: route({
    method: 'GET',
    path: '/v1/schedules/upcoming',
    summary: 'When the timetables of all enabled schedules ask for runs, the next one first',
    auth: 'key',
    query: z.object({
      from: instant.optional().describe('default: now; nothing before now is answered'),
      to: instant.optional().describe('Before this instant; default 24 h after `from`, at most 7 days after it'),
      limit: limit(500, 100),
    }),
    answers: json(
      z.object({
        upcoming: z.array(z.object({ schedule_id: uuid, name: z.string(), at: dateTime })),
        truncated: z.boolean().describe('There are more, or there may be: ask for a shorter time'),
      }),
    ),
  }),
  create: route({
    method: 'POST',
    path: '/v1/schedules',
    summary: 'Create a schedule',
    auth: 'key',
    idempotent: true,
    takes: json(newSchedule),
    answers: json(schedule, 201),
  }),
  get: route({
    method: 'GET',
    path: '/v1/schedules/{id}',
    summary: 'One schedule',
    auth: 'key',
    params: byId,
    answers: json(schedule),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/schedules/{id}',
    summary: 'Change a schedule; an edited command loses its approvals',
    auth: 'key',
    params: byId,
    takes: json(scheduleChanges),
    answers: json(schedule),
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    summary: 'Delete a schedule and cancel its runs',
    auth: 'key',
    params: byId,
    answers: nothing,
  }),
  run: route({
    method: 'POST',
    path: '/v1/schedules/{id}/run',
    summary: 'Run it now; `queued` is false when a pause, a skipped day, a limit or an overlap forbids it',
    auth: 'key',
    idempotent: true,
    params: byId,
    answers: json(z.object({ queued: z.boolean(), run_id: uuid.optional() }), 202),
  }),
  runs: route({
    method: 'GET',
    path: '/v1/schedules/{id}/runs',
    summary: 'Runs of a schedule, newest first',
    auth: 'key',
    params: byId,
    query: z.object(runPage),
    answers: json(runList),
  }),
  approveCommand: route({
    method: 'POST',
    path: '/v1/schedules/{id}/approve-command',
    summary: 'Approve the command of a shell schedule for the calling device',
    auth: 'key',
    ...gives('terminal'),
    notIdempotent: 'it sets a state: a repeat finds it so',
    scopes: ['schedules', 'scheduler:serve'],
    params: byId,
    headers: z.object({ 'x-svc-device': uuid }),
    takes: json(z.object({ command_hash: commandHash })),
    answers: json(z.object({ approved: z.boolean(), device_id: uuid })),
    errors: ['hash_mismatch'],
  }),
  revokeCommand: route({
    method: 'DELETE',
    path: '/v1/schedules/{id}/approve-command',
    summary: "Withdraw the calling device's approval",
    auth: 'key',
    scopes: ['schedules', 'scheduler:serve'],
    params: byId,
    headers: z.object({ 'x-svc-device': uuid }),
    answers: json(z.object({ approved: z.boolean(), device_id: uuid })),
  }),
  preview: route({
    method: 'POST',
    path: '/v1/schedules/preview',
    summary: 'Read plain words (English, Romanian) or a trigger, and show its next runs',
    auth: 'key',
    notIdempotent: 'it makes nothing',
    takes: json(
      z.object({
        text: text(200).optional(),
        trigger: z.unknown().optional().describe('A trigger; anything else is answered with `invalid`'),
        tz: z.unknown().optional().describe('IANA time zone, default Europe/Bucharest'),
      }),
    ),
    answers: json(
      z.object({
        ok: z.boolean(),
        reason: z.enum(['not_understood', 'invalid']).optional(),
        message: z.string().optional().describe('Why it is invalid, and what to write in its place'),
        trigger: trigger.optional(),
        next_runs: z.array(dateTime).optional(),
        dst_warning: z.boolean().optional(),
        hint: z.string().optional().describe('What may not be as it reads, such as uneven gaps of a cron step'),
      }),
    ),
  }),
  pause: route({
    method: 'POST',
    path: '/v1/schedules/pause',
    summary: 'Create no runs, until resumed or until an instant',
    auth: 'key',
    idempotent: true,
    takes: json(z.object({ until: instant.optional(), resume_policy: z.enum(['skip', 'backfill']).default('skip') })),
    answers: json(pause),
  }),
  resume: route({
    method: 'POST',
    path: '/v1/schedules/resume',
    summary: 'End the pause; with backfill, one catch-up run for each schedule that missed slots',
    auth: 'key',
    idempotent: true,
    takes: json(z.object({ backfill: z.boolean().optional().describe("default: the pause's resume_policy") })),
    answers: json(z.object({ paused: z.boolean(), backfilled: z.int() })),
  }),
  templates: route({
    method: 'GET',
    path: '/v1/schedules/templates',
    summary: 'Ready-made schedules',
    auth: 'key',
    answers: json(z.object({ templates: z.array(template) })),
  }),
  useTemplate: route({
    method: 'POST',
    path: '/v1/schedules/templates',
    summary: 'Create a schedule from a template',
    auth: 'key',
    idempotent: true,
    takes: json(z.object({ template: text(120), params: z.record(z.string(), z.unknown()).default({}) })),
    answers: json(z.object({ schedule })),
  }),
  stream: route({
    method: 'GET',
    path: '/v1/schedules/stream',
    summary: 'Changes of schedules and of their runs, live',
    auth: 'key',
    scopes: ['schedules', 'schedules:read', 'scheduler:serve'],
    query: z.object(afterCursor),
    answers: events({
      ready,
      schedule: z.object({
        op: z.enum(['created', 'updated', 'deleted', 'paused', 'resumed', 'run']),
        state: z.string().describe("A run's state; `enabled`, `disabled`, `deleted`, `paused` or `active` otherwise"),
        schedule_id: uuid.optional(),
        run_id: uuid.optional(),
        attempt: z.int().optional(),
        cursor: feedCursor,
      }),
    }),
  }),
};
