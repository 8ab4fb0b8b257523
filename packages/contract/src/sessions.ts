import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, jsonObject, limit, nextCursor, resettable, text, uuid } from './fields.ts';
import { events, json, plain, route } from './route.ts';

const lease = z
  .object({ device_id: uuid, expires_at: dateTime })
  .meta({ id: 'SessionLease', description: 'Which device may write, and until when unless it renews' });

const metadata = jsonObject(16_000);

/** A log that the devices of an account share (design: prompts, Sessions). */
export const session = z
  .object({
    id: uuid,
    title: z.string().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
    seq: z.int().describe('Of its last event; 0 without one'),
    lease: lease.optional().describe('Absent while it is free'),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Session' });

const turnTypes = ['turn_start', 'delta', 'turn_end', 'message', 'tool'] as const;
const newEvent = z
  .object({
    type: z.enum(turnTypes),
    turn_id: text(128).min(1).describe('Of the turn that it belongs to'),
    id: text(128).min(1).optional().describe('Sent again under the same id it is stored once'),
    role: text(32).min(1).optional().describe('`user`, `assistant`, `system` or `tool`, or a client’s own'),
    text: text(200_000).optional(),
    data: jsonObject(64_000).optional(),
  })
  .meta({ id: 'NewSessionEvent' });

/** An event of a session as it is stored. */
export const sessionEvent = z
  .object({
    seq: z.int(),
    type: z.enum(turnTypes),
    turn_id: z.string(),
    id: z.string().optional(),
    role: z.string().optional(),
    text: z.string().optional(),
    data: z.record(z.string(), z.unknown()).optional(),
    device_id: uuid,
    at: dateTime,
  })
  .meta({ id: 'SessionEvent' });

/** Something that one device asks another one for. */
export const sessionControl = z
  .object({
    id: uuid,
    session_id: uuid,
    type: z.string(),
    text: z.string().optional(),
    target_device_id: uuid
      .optional()
      .describe('Absent: it waits for the next desktop or Android device of the account that listens'),
    from_device_id: uuid.optional(),
    created_at: dateTime,
    acked_at: dateTime.optional().describe('When the target took it'),
    withdrawn_at: dateTime.optional().describe('When it was taken back: its target begins nothing of it any more'),
  })
  .meta({ id: 'SessionControl' });

/** Codes of sessions' own (document 1, Errors). */
export const sessionErrors = {
  lease_held: { status: 409, type: 'conflict_error' },
  seq_conflict: { status: 409, type: 'conflict_error' },
  /** A turn whose `turn_id` is a control that was taken back (additive). */
  control_withdrawn: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

const byId = z.object({ id: uuid });
/** The header that names the calling device. */
const asDevice = z.object({ 'x-svc-device': uuid });
const serving = ['sessions', 'sessions:serve'] as const;
const after = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int().nonnegative())
  .default(0)
  .describe('Only events after this `seq`; default 0') as unknown as z.ZodDefault<z.ZodType<number, number>>;

/** Sessions that the devices of an account share (design: prompts, Sessions). */
export const sessions = {
  list: route({
    method: 'GET',
    path: '/v1/sessions',
    summary: "The account's sessions, newest first",
    auth: 'key',
    query: z.object({ limit: limit(200, 50), cursor: text(200).min(1).optional() }),
    answers: json(z.object({ sessions: z.array(session), ...nextCursor })),
  }),
  create: route({
    method: 'POST',
    path: '/v1/sessions',
    summary: 'Begin a session',
    auth: 'key',
    idempotent: true,
    takes: json(z.object({ title: text(200).optional(), metadata: metadata.optional() })),
    answers: json(session, 201),
  }),
  stream: route({
    method: 'GET',
    path: '/v1/sessions/stream',
    summary: 'What other devices ask the calling one for: what it has not acknowledged, then what comes',
    auth: 'key',
    scopes: serving,
    headers: asDevice,
    answers: events({ control: sessionControl }),
  }),
  get: route({
    method: 'GET',
    path: '/v1/sessions/{id}',
    summary: 'One session',
    auth: 'key',
    scopes: ['sessions', 'sessions:read', 'sessions:serve'],
    params: byId,
    answers: json(session),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/sessions/{id}',
    summary: 'Change title or metadata of a session',
    auth: 'key',
    params: byId,
    takes: json(
      z
        .object({ title: resettable(text(200)), metadata: resettable(metadata) })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required'),
    ),
    answers: json(session),
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/sessions/{id}',
    summary: 'Delete a session with its events and controls',
    auth: 'key',
    params: byId,
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
  }),
  takeLease: route({
    method: 'POST',
    path: '/v1/sessions/{id}/lease',
    summary: 'Take the right to write for 30 s, or renew it',
    auth: 'key',
    notIdempotent: 'it renews a lease',
    scopes: serving,
    headers: asDevice,
    params: byId,
    answers: json(z.object({ lease })),
    errors: ['lease_held'],
  }),
  dropLease: route({
    method: 'DELETE',
    path: '/v1/sessions/{id}/lease',
    summary: 'Give the right to write back',
    auth: 'key',
    scopes: serving,
    headers: asDevice,
    params: byId,
    answers: json(z.object({ released: z.boolean() })),
    errors: ['lease_held'],
  }),
  append: route({
    method: 'POST',
    path: '/v1/sessions/{id}/events',
    summary: 'Append events behind the last one that the caller knows',
    auth: 'key',
    notIdempotent: '`expected_seq` and the ids of events keep a repeat from being stored twice',
    scopes: serving,
    headers: asDevice,
    params: byId,
    takes: json(
      z.object({
        expected_seq: z.int().min(0).describe('`seq` of the last event that the caller knows'),
        events: z.array(newEvent).min(1).max(500),
      }),
    ),
    answers: json(z.object({ seq: z.int().describe('Of the last of these events') })),
    errors: ['lease_held', 'seq_conflict', 'control_withdrawn'],
  }),
  events: route({
    method: 'GET',
    path: '/v1/sessions/{id}/events',
    summary: 'Events of a session, oldest first',
    auth: 'key',
    params: byId,
    query: z.object({ after, limit: limit(200, 50) }),
    answers: json(
      z.object({
        events: z.array(sessionEvent),
        seq: z.int().describe('Of the last event that the session has; further ones: `after` the last one here'),
      }),
    ),
  }),
  follow: route({
    method: 'GET',
    path: '/v1/sessions/{id}/stream',
    summary: 'Events of a session, those that are stored and then those that come',
    auth: 'key',
    params: byId,
    query: z.object({ after }),
    answers: events({
      event: sessionEvent,
      control: sessionControl,
      lease: z.object({ lease: lease.optional().describe('Absent: it is free') }),
    }),
  }),
  sendControl: route({
    method: 'POST',
    path: '/v1/sessions/{id}/controls',
    summary: 'Ask a device to send a prompt, to stop, or for something that its client knows',
    auth: 'key',
    idempotent: true,
    params: byId,
    takes: json(
      z
        .object({
          type: z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be lower case letters, digits and _, at most 32'),
          text: text(200_000).optional(),
          target_device_id: uuid.optional().describe('Default: the device that writes, or wrote last'),
        })
        .refine((body) => body.type !== 'send' || (body.text ?? '').trim() !== '', {
          path: ['text'],
          message: 'is required for send',
        }),
    ),
    answers: json(sessionControl, 201),
  }),
  withdrawControl: route({
    method: 'DELETE',
    path: '/v1/sessions/{id}/controls/{control_id}',
    summary: 'Take a control back: what its device has not begun, it does not begin',
    auth: 'key',
    params: z.object({ id: uuid, control_id: uuid }),
    answers: json(sessionControl),
  }),
  ackControl: route({
    method: 'POST',
    path: '/v1/sessions/{id}/controls/{control_id}/ack',
    summary: 'Say that the calling device took a control; it is not delivered again',
    auth: 'key',
    notIdempotent: 'it sets a state: a repeat finds it so',
    scopes: serving,
    headers: asDevice,
    params: z.object({ id: uuid, control_id: uuid }),
    answers: json(sessionControl),
  }),
  transcript: route({
    method: 'GET',
    path: '/v1/sessions/{id}/transcript',
    summary: 'What was said in a session, as plain text',
    auth: 'key',
    params: byId,
    answers: plain(z.string()),
  }),
};
