import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, epochMs, text, uuid } from './fields.ts';
import { execRoutes, takenExec } from './hosts.execs.ts';
import { events, json, route } from './route.ts';
import { freshSecondsOfUse, gives } from './strength.ts';

/** A device that is present right now (document 1, Host record). */
export const host = z
  .object({
    device_id: uuid,
    name: z.string(),
    platform: z.string(),
    os: z.string(),
    hostname: z.string(),
    roots: z.array(z.string()),
    since: epochMs,
    last_seen: epochMs,
  })
  .meta({ id: 'Host' });

/** The `exec` frame a host receives. Extra fields of the caller's body stand beside these; these names win. */
const execEvent = z.looseObject({
  req_id: uuid,
  op: z.string(),
  args: z.record(z.string(), z.unknown()),
  timeout_ms: z.int(),
  from_device_id: uuid.optional(),
  /** Milliseconds since the epoch after which nobody waits for the result; of a detached command, after which it may not start. */
  deadline: epochMs,
  /** Nobody waits: the host asks `startExec` first, and reports when it is over. May come again. Additive. */
  detached: z.literal(true).optional(),
});

/** `text` cut to `max` UTF-16 units, never in the middle of a surrogate pair. */
const truncated = (max: number) =>
  z
    .string()
    .default('')
    .transform((value) => value.replaceAll('\u0000', '').slice(0, max).toWellFormed());

const maxRoots = 32;

/** How an operation ended on its host. */
const opResult = z.object({
  ok: z.boolean(),
  result: z.unknown().optional(),
  error: text(65_536).optional(),
  unknown: z
    .boolean()
    .optional()
    .describe('Of a detached command: the host cannot know how it ended, and `error` says why. Additive'),
});

/** Codes of a call that did not reach its host, or of which no result came (document 1, Hosts). */
export const hostErrors = {
  host_offline: { status: 409, type: 'conflict_error' },
  host_disconnected: { status: 502, type: 'api_error' },
  host_timeout: { status: 504, type: 'api_error' },
  /** Its daemon is of a version that does no command by itself. */
  host_outdated: { status: 409, type: 'conflict_error' },
  exec_over: { status: 409, type: 'conflict_error' },
  exec_taken: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** Hosts relay (document 1, Hosts; design: hosts). */
export const hosts = {
  list: route({
    method: 'GET',
    path: '/v1/hosts',
    summary: 'Hosts that are present now',
    auth: 'key',
    scopes: ['hosts', 'hosts:read', 'hosts:exec'],
    answers: json(z.object({ hosts: z.array(host) })),
  }),
  // Not in the documents.
  get: route({
    method: 'GET',
    path: '/v1/hosts/{device_id}',
    summary: 'One host that is present now',
    auth: 'key',
    scopes: ['hosts', 'hosts:read', 'hosts:exec'],
    params: z.object({ device_id: uuid }),
    answers: json(host),
  }),
  stream: route({
    method: 'GET',
    path: '/v1/hosts/stream',
    summary: 'Be present as a host and receive operations',
    auth: 'key',
    scopes: ['hosts:serve'],
    headers: z.object({ 'x-svc-device': uuid }),
    query: z.object({
      os: truncated(40).describe('Operating system label, truncated to 40 characters'),
      hostname: truncated(120).describe('Truncated to 120 characters'),
      roots: z
        .string()
        .default('')
        .transform((value) =>
          value
            .replaceAll('\u0000', '')
            .toWellFormed()
            .split(',')
            .map((root) => root.trim())
            .filter((root) => root !== '')
            .slice(0, maxRoots),
        )
        .describe('Comma-separated filesystem roots; blanks dropped; the first 32 count'),
      detached: z
        .enum(['true', 'false'])
        .default('false')
        .transform((value) => value === 'true')
        .describe('Whether this host does commands by itself (`startExec`). Additive'),
    }),
    answers: events({
      ready: z.object({ device_id: uuid, since: epochMs }),
      exec: execEvent,
      exec_cancel: z.object({ req_id: uuid }),
    }),
  }),
  exec: route({
    method: 'POST',
    path: '/v1/hosts/{device_id}/exec',
    summary: 'Run an operation on a host and wait for its result',
    auth: 'key',
    freshWithin: freshSecondsOfUse,
    scopes: ['hosts', 'hosts:exec'],
    idempotent: true,
    params: z.object({ device_id: uuid }),
    takes: json(
      z.looseObject({
        op: text(120).min(1),
        args: z.record(z.string(), z.unknown()).default({}),
        timeout_ms: z.int().min(1000).max(300_000).default(30_000),
        if_offline: z
          .enum(['refuse', 'wait'])
          .default('refuse')
          .describe('Of a host that is away: 409, or 202 and it is done when the host is back. Additive'),
        detach: z
          .boolean()
          .default(false)
          .describe(
            'Do not wait for the result: 202, and the host does it by itself; at most 2 MiB, and 409 `host_outdated` by a daemon that cannot. Additive',
          ),
        expires_in_s: z
          .int()
          .min(60)
          .max(604_800)
          .default(86_400)
          .describe('After so many seconds what has not started never does. Additive'),
      }),
    ),
    answers: json(
      z
        .object({ req_id: uuid, ok: z.boolean(), result: z.unknown(), error: z.string().optional() })
        .meta({ id: 'HostExecResult' }),
    ).or(202, takenExec),
    errors: ['host_offline', 'host_outdated', 'host_disconnected', 'host_timeout', 'quota_exceeded'],
  }),
  result: route({
    method: 'POST',
    path: '/v1/hosts/exec/{req_id}/result',
    summary: 'Report the result of an operation; only the device it was sent to may',
    auth: 'key',
    notIdempotent: 'the first result counts, and a repeat is taken',
    scopes: ['hosts:serve'],
    whileDraining: true,
    headers: z.object({ 'x-svc-device': uuid }),
    params: z.object({ req_id: uuid }),
    takes: json(opResult),
    answers: json(z.object({ ok: z.literal(true) })),
  }),
  // Not in the documents: what a busy host says in one request, not in 64.
  results: route({
    method: 'POST',
    path: '/v1/hosts/results',
    summary: 'Report the results of several operations at once; only the device they were sent to may',
    auth: 'key',
    notIdempotent: 'the first result counts, and a repeat is taken',
    scopes: ['hosts:serve'],
    whileDraining: true,
    headers: z.object({ 'x-svc-device': uuid }),
    takes: json(
      z.object({
        results: z
          .array(opResult.extend({ req_id: uuid }))
          .min(1)
          .max(64),
      }),
    ),
    answers: json(z.object({ taken: z.array(z.boolean()) })),
  }),
  ...execRoutes,
  // Not in the documents: how a machine that has only Node.js becomes a host.
  invite: route({
    method: 'POST',
    path: '/v1/hosts/invites',
    summary: 'Make a code with which one machine gets a key to be a host, within ten minutes',
    auth: 'key',
    ...gives('keys', 'serve'),
    idempotent: true,
    scopes: ['hosts'],
    shownOnce: true,
    takes: json(
      z.object({
        name: text(100).min(1).optional().describe('Of the host; default: its hostname'),
        device_id: uuid
          .optional()
          .describe(
            'The device that may use the code, also when another key serves it now; needs the scope "*". Additive',
          ),
      }),
    ),
    answers: json(
      z.object({
        code: z.string().describe('For one use'),
        expires_at: dateTime,
        path: z.string().describe('Of the program on this gateway, which the code is given to'),
        sha256: z.string().describe('Of the program, in hex'),
      }),
      201,
    ),
    errors: ['quota_exceeded'],
  }),
  redeemInvite: route({
    method: 'POST',
    path: '/v1/hosts/invites/redeem',
    summary: 'Exchange a code for a key with which one device is a host and may do nothing else',
    auth: 'open',
    takes: json(
      z.object({
        code: text(64).min(1),
        device: z.object({ id: uuid, name: text(100).min(1) }),
      }),
    ),
    answers: json(z.object({ key: z.string(), name: z.string(), device_id: uuid }), 201),
    errors: ['bad_request', 'forbidden', 'rate_limit_exceeded', 'quota_exceeded', 'unavailable'],
  }),
};
