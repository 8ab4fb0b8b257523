import { z } from 'zod';
import { dateTime, limit, nextCursor, page, text, uuid } from './fields.ts';
import { bytes, bytesOrEvents, json, route } from './route.ts';

/** States of a command that a machine does by itself; the last four are final (design: feed). */
export const execStates = ['waiting', 'sent', 'running', 'done', 'expired', 'cancelled', 'unknown'] as const;

const state = z.enum(execStates);
const position = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int().nonnegative()) as unknown as z.ZodType<number, number>;

/** A command that a machine does by itself. */
export const hostExec = z
  .object({
    req_id: uuid,
    device_id: uuid,
    op: z.string(),
    state,
    ok: z.boolean().optional().describe('As the host says it, once it is done'),
    result: z.unknown().optional().describe('As the host says it; at most 1 MiB. Not in lists'),
    error: z.string().optional().describe('Why it is not done, or as the host says it'),
    exit_code: z.int().optional().describe('Of a shell command that ended'),
    output_bytes: z.int().describe('Of its output that are here'),
    truncated: z.boolean().optional().describe('It wrote more than is kept'),
    created_at: dateTime,
    started_at: dateTime.optional(),
    cancel_asked_at: dateTime.optional().describe('It runs, and its host was asked to end it'),
    finished_at: dateTime.optional(),
    expires_at: dateTime.describe('If it has not started by then, it never does'),
  })
  .meta({ id: 'HostExec' });

/** A command that was taken, and whose result is not waited for. Other fields of an answer are never set. */
type Taken = { req_id: string; state: z.output<typeof state>; ok?: undefined; result?: undefined; error?: undefined };
export const takenExec = z.object({ req_id: uuid, state }).meta({ id: 'HostExecTaken' }) as unknown as z.ZodType<Taken>;

const byId = z.object({ req_id: uuid });
const ownDevice = z.object({ 'x-svc-device': uuid });
const readers = ['hosts', 'hosts:read', 'hosts:exec'] as const;

/** Commands that machines do by themselves: additive, the documents know only calls that wait. */
export const execRoutes = {
  listExecs: route({
    method: 'GET',
    path: '/v1/hosts/exec',
    summary: 'Commands that hosts do by themselves, newest first, for 30 days',
    auth: 'key',
    scopes: readers,
    query: z.object({ ...page, limit: limit(200, 50), device_id: uuid.optional(), state: state.optional() }),
    answers: json(z.object({ execs: z.array(hostExec), ...nextCursor })),
  }),
  getExec: route({
    method: 'GET',
    path: '/v1/hosts/exec/{req_id}',
    summary: 'One command that a host does by itself',
    auth: 'key',
    scopes: readers,
    params: byId,
    answers: json(hostExec),
  }),
  execOutput: route({
    method: 'GET',
    path: '/v1/hosts/exec/{req_id}/output',
    summary: 'What a command wrote, as text; with `Accept: text/event-stream` as it comes, until it is over',
    auth: 'key',
    scopes: readers,
    params: byId,
    query: z.object({ from: position.default(0).describe('First byte that is wanted') }),
    answers: bytesOrEvents('text/plain', {
      chunk: z.object({
        from: z.int().describe('Bytes of the output before this'),
        to: z.int().describe('And with it: `from` of a reader that comes back'),
        text: z.string(),
      }),
      end: z.object({ state, bytes: z.int() }),
    }),
  }),
  cancelExec: route({
    method: 'DELETE',
    path: '/v1/hosts/exec/{req_id}',
    summary: 'Keep a command from starting, or have its host end it',
    auth: 'key',
    scopes: ['hosts', 'hosts:exec'],
    params: byId,
    answers: json(hostExec),
  }),
  startExec: route({
    method: 'POST',
    path: '/v1/hosts/exec/{req_id}/start',
    summary: 'Ask whether a command may start, as the host that it was sent to; once',
    auth: 'key',
    notIdempotent: 'the same token gets the same answer',
    scopes: ['hosts:serve'],
    whileDraining: true,
    headers: ownDevice,
    params: byId,
    takes: json(
      z.object({ token: text(100).min(16).describe('Of this host for this command, the same at each repeat') }),
    ),
    answers: json(z.object({ state })),
    errors: ['exec_over', 'exec_taken'],
  }),
  appendOutput: route({
    method: 'POST',
    path: '/v1/hosts/exec/{req_id}/output',
    summary: 'Add to what a command wrote; 10 MiB are kept, for 30 days',
    auth: 'key',
    notIdempotent: '`offset` says where it goes',
    scopes: ['hosts:serve'],
    whileDraining: true,
    headers: ownDevice,
    params: byId,
    query: z.object({ offset: position.describe('How many bytes it wrote before') }),
    takes: bytes(1024 * 1024),
    answers: json(
      z.object({
        bytes: z.int().describe('How many bytes are here: where to go on'),
        full: z.boolean().describe('No more is kept'),
      }),
    ),
    errors: ['exec_over', 'quota_exceeded'],
  }),
};
