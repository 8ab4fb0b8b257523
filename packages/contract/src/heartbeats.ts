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
  resettable,
  text,
  uuid,
} from './fields.ts';
import { badges } from './heartbeats.badges.ts';
import {
  dayCount,
  heartbeat,
  monitorLogEntry,
  monitorStatuses,
  monitorTag,
  monitorTags,
  pingRecord,
} from './heartbeats.shapes.ts';
import { anything, events, json, plain, route } from './route.ts';

const name = text(120).min(1);
/** Form of a slug (document 3). */
export const slugPattern = /^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$/;
const slug = z
  .string()
  .regex(slugPattern, 'must be 3 to 40 small letters, digits and hyphens, and neither begin nor end with a hyphen')
  .describe("Its name under the account's ping key");
const period = z.int().min(60).max(2_592_000);
const grace = z.int().min(60).max(604_800);
const cron = text(200).min(1);
const timeZone = text(64).refine((value) => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value }).format();
    return true;
  } catch {
    return false;
  }
}, 'must be an IANA time zone');

/** A monitor goes by seconds or by an expression, never by both. */
function onePeriod(body: { period_s?: unknown; cron?: unknown }, context: z.RefinementCtx): void {
  if (body.period_s === undefined || body.cron === undefined) return;
  context.addIssue({ code: 'custom', path: ['cron'], message: 'stands in place of period_s: give one of them' });
}

/** Common part of every ping route: anyone who has the token may call it, from any client. */
const ping = {
  method: 'GET',
  auth: 'open',
  also: 'POST',
  takes: anything(10_000),
  cors: true,
  answers: plain(z.literal('OK')),
  errors: ['bad_request', 'not_found', 'unavailable'],
} as const;
/** Matches a start with its end when runs of one job overlap. */
const query = z.object({
  rid: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('Id of the run that a start and its end share, a UUID; the ping counts without one that is none'),
});
const bySlug = query.extend({
  create: z
    .string()
    .optional()
    .describe('`1`: a slug that no monitor has gets one, with a period of a day and a grace of an hour'),
});

/** Codes of monitors' own. */
export const heartbeatErrors = {
  slug_taken: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** Heartbeat monitors, and the addresses that jobs ping (document 2, Heartbeat monitors). */
export const heartbeats = {
  list: route({
    method: 'GET',
    path: '/v1/heartbeats',
    summary: "The account's monitors, newest first, or by `sort`",
    auth: 'key',
    query: z.object({
      limit: page.limit,
      cursor: text(2_000).min(1).optional().describe('`next_cursor` of the page before, with the same `sort`'),
      q: text(100).optional().describe('Part of the name, in any case'),
      status: commaList(monitorStatuses).optional(),
      tag: monitorTag.optional().describe('Those that have this tag'),
      sort: z
        .enum(['trouble', 'name'])
        .optional()
        .describe('`trouble`: down, late, new, up, paused, and by name within each. If unset: newest first'),
      days: dayCount,
    }),
    answers: json(z.object({ heartbeats: z.array(heartbeat), ...nextCursor })),
  }),
  create: route({
    method: 'POST',
    path: '/v1/heartbeats',
    summary: 'Create a monitor; its `ping_url` is in this response only',
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    takes: json(
      z
        .object({
          name,
          slug: slug.optional(),
          period_s: period.optional().describe('Seconds within which a success is expected; or give `cron`'),
          cron: cron.optional().describe('5 fields, as in a trigger: a success is expected by each instant it names'),
          grace_s: grace
            .optional()
            .describe('Seconds that it may be late; default 3600, or the period when that is less'),
          tags: monitorTags.optional().describe('Words by which its list is filtered'),
          tz: timeZone.optional().describe('Of `cron`, default Europe/Bucharest; with `period_s` for display'),
        })
        .superRefine(({ period_s, cron }, context) => {
          if (period_s === undefined && cron === undefined) {
            context.addIssue({ code: 'custom', path: ['period_s'], message: 'is required, or cron in its place' });
          }
        })
        .superRefine(onePeriod),
    ),
    answers: json(heartbeat.extend({ ping_url: z.string() }).meta({ id: 'CreatedHeartbeat' }), 201),
    errors: ['slug_taken'],
  }),
  // Not in the documents.
  stream: route({
    method: 'GET',
    path: '/v1/heartbeats/stream',
    summary: "Changes of the account's monitors, live",
    auth: 'key',
    query: z.object(afterCursor),
    answers: events({
      ready,
      heartbeat: z.object({
        op: z.enum(['created', 'updated', 'deleted']),
        heartbeat: heartbeat.partial().required({ id: true }).describe('Of a deleted one its `id` is left'),
        cursor: feedCursor,
      }),
    }),
  }),
  get: route({
    method: 'GET',
    path: '/v1/heartbeats/{id}',
    summary: 'One monitor',
    auth: 'key',
    params: z.object({ id: uuid }),
    query: z.object({ days: dayCount }),
    answers: json(heartbeat),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/heartbeats/{id}',
    summary: 'Rename, change the times of, pause or resume a monitor',
    auth: 'key',
    params: z.object({ id: uuid }),
    takes: json(
      z
        .object({
          name: name.optional(),
          slug: resettable(slug),
          period_s: period.optional().describe('Ends `cron`'),
          cron: cron.optional().describe('In place of `period_s` from now on'),
          grace_s: resettable(grace),
          tz: resettable(timeZone),
          tags: resettable(monitorTags).describe('Replaces them'),
          paused: z.boolean().optional().describe('`true`: without an end, unless `paused_until` is given'),
          paused_until: resettable(instant).describe(
            'Pauses it now and lets it go on by itself then, at most a year from now; `null`: a pause has no end',
          ),
          muted_until: resettable(instant).describe(
            'Silences it: until then, at most a year from now, nobody is told that it is down, and its status stays what it is. ' +
              'Ends with a success after an outage; `null` ends it now',
          ),
        })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required')
        .refine(({ paused, paused_until: until }) => paused !== false || until == null, {
          path: ['paused_until'],
          message: 'pauses the monitor: leave out paused, or send true',
        })
        .superRefine(onePeriod),
    ),
    answers: json(heartbeat),
    errors: ['slug_taken'],
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/heartbeats/{id}',
    summary: 'Delete a monitor and its pings',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
  }),
  // Not in the documents, as what follows up to the pings.
  rotate: route({
    method: 'POST',
    path: '/v1/heartbeats/{id}/rotate',
    summary: 'Give a monitor a new `ping_url`, in this response only; the one before answers 404 at once',
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    params: z.object({ id: uuid }),
    answers: json(z.object({ ping_url: z.string() })),
  }),
  pings: route({
    method: 'GET',
    path: '/v1/heartbeats/{id}/pings',
    summary: 'The last 100 pings of a monitor, newest first',
    auth: 'key',
    params: z.object({ id: uuid }),
    query: z.object({ limit: limit(100, 100) }),
    answers: json(
      z.object({
        pings: z.array(pingRecord),
      }),
    ),
  }),
  log: route({
    method: 'GET',
    path: '/v1/heartbeats/{id}/log',
    summary: 'Pings and changes of status of a monitor, newest first',
    auth: 'key',
    params: z.object({ id: uuid }),
    query: z.object({ limit: limit(200, 50), cursor: page.cursor }),
    answers: json(z.object({ log: z.array(monitorLogEntry), ...nextCursor })),
  }),
  getPingKey: route({
    method: 'GET',
    path: '/v1/heartbeats/ping-key',
    summary: 'Since when the account has a ping key, without its text',
    auth: 'key',
    answers: json(z.object({ created_at: dateTime })),
  }),
  createPingKey: route({
    method: 'POST',
    path: '/v1/heartbeats/ping-key',
    summary: "Make the account's ping key, in this response only; the one before answers 404 at once",
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    answers: json(z.object({ ping_key: z.string(), created_at: dateTime }).meta({ id: 'CreatedPingKey' }), 201),
  }),
  removePingKey: route({
    method: 'DELETE',
    path: '/v1/heartbeats/ping-key',
    summary: "End the account's ping key; addresses of single monitors go on",
    auth: 'key',
    answers: json(z.object({ deleted: z.literal(true) })),
  }),
  ...badges,
  ping: route({
    ...ping,
    path: '/ping/{token}',
    summary: 'The job succeeded',
    params: z.object({ token: z.string() }),
    query,
  }),
  signal: route({
    ...ping,
    path: '/ping/{token}/{signal}',
    summary:
      'The job started (`start`), failed (`fail`), says something (`log`), or ended with an exit code (0 to 255)',
    params: z.object({
      token: z.string().describe('Of a monitor; or a ping key, which begins with `pk_`'),
      signal: z.string().describe('After a ping key: the slug of a monitor, whose job succeeded'),
    }),
    query: bySlug,
    errors: [...ping.errors, 'quota_exceeded'],
  }),
  signalSlug: route({
    ...ping,
    path: '/ping/{ping_key}/{slug}/{signal}',
    summary: 'The same for the monitor that has this slug in the account of the ping key',
    params: z.object({ ping_key: z.string(), slug: z.string(), signal: z.string() }),
    query: bySlug,
    errors: [...ping.errors, 'quota_exceeded'],
  }),
};
