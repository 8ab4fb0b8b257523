import { z } from 'zod';
import { afterCursor, dateTime, feedCursor, nextCursor, page, ready, text, uuid } from './fields.ts';
import { events, json, route } from './route.ts';

/** A line that a person keeps. */
export const note = z
  .object({ id: uuid, text: z.string(), status: z.enum(['open', 'done']), created_at: dateTime })
  .meta({ id: 'Note' });

const params = z.object({ id: uuid });

/** Notes of the caller's account. */
export const notes = {
  create: route({
    method: 'POST',
    path: '/v1/notes',
    summary: 'Keep a note',
    auth: 'key',
    idempotent: true,
    takes: json(z.strictObject({ text: text(1_000).min(1) })),
    answers: json(note),
  }),
  list: route({
    method: 'GET',
    path: '/v1/notes',
    summary: "The account's notes, newest first",
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ notes: z.array(note), ...nextCursor })),
  }),
  finish: route({
    method: 'POST',
    path: '/v1/notes/{id}/finish',
    summary: 'Note that it is done',
    auth: 'key',
    notIdempotent: 'it sets a state: a repeat finds it so',
    params,
    answers: json(note),
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/notes/{id}',
    summary: 'Delete a note',
    auth: 'key',
    params,
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
  }),
  stream: route({
    method: 'GET',
    path: '/v1/notes/stream',
    summary: 'Notes as they are kept, done and deleted',
    auth: 'key',
    query: z.object(afterCursor),
    answers: events({
      ready,
      note: z.object({
        op: z.enum(['created', 'updated', 'deleted']),
        note: note.partial().required({ id: true }),
        cursor: feedCursor,
      }),
    }),
  }),
};
