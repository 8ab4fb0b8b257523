import { z } from 'zod';
import { afterCursor, dateTime, feedCursor, limit, ready } from './fields.ts';
import { events as frames, json, route } from './route.ts';
import type { Scope } from './scopes.ts';

/** Features whose changes stand in the feed of an account. */
export const topics = [
  'hosts',
  'notifications',
  'heartbeats',
  'schedules',
  'scheduler',
  'sandboxes',
  'sessions',
  'prompts',
  'transcripts',
  'environments',
] as const;
const topic = z.enum(topics);

/** What happened to a record of the account (design: feed). */
export const change = z
  .object({
    cursor: feedCursor,
    topic,
    op: z.enum(['created', 'updated', 'deleted']),
    id: z.string().describe('Of the record'),
    at: dateTime,
    record: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('The record, or what of it this topic tells; absent: it has over 8,000 bytes, or is gone'),
  })
  .meta({ id: 'Change' });

const mostWaitSeconds = 60;
/** `a,b`; blanks are dropped. */
const wanted = z
  .string()
  .default('')
  .transform((value) => [...new Set(value.split(',').map((name) => name.trim()))].filter((name) => name !== ''))
  .pipe(z.array(topic))
  .describe(`Comma-separated: ${topics.join(', ')}. Default: all that the key may read`) as unknown as z.ZodDefault<
  z.ZodType<(typeof topics)[number][], string>
>;
const waitSeconds = z
  .string()
  .regex(/^\d{1,2}$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int().min(0).max(mostWaitSeconds))
  .default(0)
  .describe(`0 to ${mostWaitSeconds}, default 0: how long to wait for the first change`) as unknown as z.ZodDefault<
  z.ZodType<number, number>
>;

/** Its topics have scopes; it has none of its own. */
const scopes: readonly Scope[] = topics.flatMap((name) => [name, `${name}:read`] as const);

/** The feed of an account: what happened to it, in one order (design: feed; not in the documents). */
export const events = {
  list: route({
    method: 'GET',
    path: '/v1/events',
    summary: 'Changes of the account after a cursor, oldest first; waits for one when there is none',
    auth: 'key',
    scopes,
    query: z.object({ ...afterCursor, topics: wanted, limit: limit(500, 100), wait_s: waitSeconds }),
    answers: json(z.object({ events: z.array(change), cursor: feedCursor, missed: ready.shape.missed })),
    errors: ['forbidden'],
  }),
  stream: route({
    method: 'GET',
    path: '/v1/events/stream',
    summary: 'Changes of the account after a cursor, and as they come',
    auth: 'key',
    scopes,
    query: z.object({ ...afterCursor, topics: wanted }),
    answers: frames({ ready: ready.extend({ topics: z.array(topic), at: dateTime }), change }),
    errors: ['forbidden'],
  }),
};
