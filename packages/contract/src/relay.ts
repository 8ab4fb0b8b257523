import { z } from 'zod';
import { environmentRoles } from './environments.shapes.ts';
import type { ErrorKind } from './errors.ts';
import { epochMs, text, uuid } from './fields.ts';
import { linuxUsername } from './relay.users.ts';
import { json, route, socket } from './route.ts';
import { digits, terminalWindow } from './terminal.ts';

const byId = z.object({ id: uuid });
/** What a client asks for on the machine. */
const wanted = {
  kind: z.enum(['port', 'terminal']),
  port: digits(65_535, 'Needed for `port`').optional(),
  ...terminalWindow,
};
/** A port is needed where a port is wanted. */
const withPort = <S extends z.ZodObject<typeof wanted>>(query: S): S =>
  query.refine(({ kind, port }) => kind !== 'port' || port !== undefined, {
    path: ['port'],
    message: 'is required where the kind is port',
  });

/** What a relay knows of an environment's machine now (document 3, Relay status). */
export const relayStatus = z
  .object({
    environment_id: uuid,
    online: z.boolean().describe('Its daemon reported within 30 s'),
    usable: z.boolean().describe('A command ran on it within 30 s'),
    usable_since: epochMs.nullable(),
    instance: uuid.nullable().describe('The process that has its connection'),
    last_heartbeat: epochMs.nullable(),
    activity: epochMs.nullable(),
    ports: z.array(z.object({ port: z.int(), pid: z.int().nullable(), process: z.string().nullable() })),
    git_state: z
      .object({
        branch: z.string().nullable(),
        dirty: z.boolean(),
        ahead: z.int(),
        behind: z.int(),
        worktrees: z.array(z.object({ path: z.string(), branch: z.string().nullable(), dirty: z.boolean() })),
      })
      .nullable(),
    daemon: z
      .object({
        daemon_version: z.string(),
        os: z.string(),
        arch: z.string(),
        capabilities: z.array(z.string()),
      })
      .nullable(),
    streams: z.int(),
    attached: z.array(
      z.object({
        client_id: uuid,
        user_id: uuid,
        role: z.enum(environmentRoles).nullable(),
        kind: z.enum(['port', 'terminal']),
        device_id: uuid.nullable(),
        name: z.string().nullable(),
        platform: z.string().nullable(),
        attached_at: epochMs,
      }),
    ),
    locks: z.array(z.object({ name: z.string(), holder: z.string().nullable(), since: epochMs })),
    clients: z.int(),
  })
  .meta({ id: 'RelayStatus' });

/** Codes of the relay (design: environments). */
export const relayErrors = {
  daemon_offline: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** Live connections with the machines of environments (document 3, Relay status; design: environments, The tunnel). */
export const relay = {
  status: route({
    method: 'GET',
    path: '/v1/environments/{id}/status',
    at: 'relay',
    summary: 'Its machine as it is now: whether it is there, its listeners, git state, locks and clients',
    auth: 'key',
    scopes: ['environments', 'environments:read'],
    params: byId,
    answers: json(relayStatus),
    errors: ['not_found'],
  }),
  serve: route({
    method: 'GET',
    path: '/v1/environments/{id}/serve',
    at: 'relay',
    summary: 'The connection of its daemon: a WebSocket that carries HTTP/2, the daemon being the server',
    auth: 'key',
    scopes: ['environments:serve'],
    params: byId,
    answers: socket(),
    errors: ['not_found', 'rate_limit_exceeded'],
  }),
  attach: route({
    method: 'GET',
    path: '/v1/environments/{id}/attach',
    at: 'relay',
    summary: 'Reach a port of it, or open a terminal there, over a WebSocket',
    auth: 'key',
    scopes: ['environments', 'environments:terminal'],
    ofApps: 'environments:terminal',
    params: byId,
    query: withPort(z.object(wanted)),
    headers: z.object({ 'x-svc-client': uuid.optional().describe('Groups connections to one client') }),
    answers: socket(),
    errors: ['not_found', 'daemon_offline', 'upstream_error'],
  }),
  join: route({
    method: 'GET',
    path: '/v1/environments/{id}/join',
    at: 'relay',
    summary: 'From relay to relay: the connection of a client that came to another one than the daemon',
    auth: 'open',
    params: byId,
    query: withPort(
      z.object({ ...wanted, published: z.enum(['0', '1']).default('0'), linux_user: linuxUsername.optional() }),
    ),
    headers: z.object({ 'x-svc-relay-peer': text(200).default('') }),
    answers: socket(),
    errors: ['forbidden', 'daemon_offline', 'upstream_error'],
  }),
};
