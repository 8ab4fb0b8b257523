import { z } from 'zod';
import { environment } from './environments.shapes.ts';
import { afterCursor, dateTime, feedCursor, limit, ready, uuid } from './fields.ts';
import { heartbeat } from './heartbeats.shapes.ts';
import { hostExec } from './hosts.execs.ts';
import { host } from './hosts.ts';
import { notification } from './notifications.ts';
import { prompt } from './prompts.ts';
import { events as frames, json, route } from './route.ts';
import { sandbox } from './sandboxes.shapes.ts';
import { runStates } from './scheduler.shapes.ts';
import type { Scope } from './scopes.ts';
import { session } from './sessions.ts';
import { transcriptStates } from './transcripts.shapes.ts';

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
type Topic = (typeof topics)[number];

/**
 * What happened to a record of one topic. A record that another release wrote may not fit: it is passed on as it is, since one
 * change must not hide all that follow.
 */
const changeOf = <const T extends Topic, R extends z.ZodType>(name: T, record: R) =>
  z
    .object({
      cursor: feedCursor,
      topic: z.literal(name),
      op: z.enum(['created', 'updated', 'deleted']),
      id: z.string().describe('Of the record'),
      at: dateTime,
      record: record
        // The document asks for a default, with no context.
        .catch((context: { value: unknown } | undefined) => context?.value as z.output<R>)
        .optional()
        .describe('The record, or what of it this topic tells; absent: it has over 8,000 bytes, or is gone'),
    })
    .meta({ id: `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Change` });

/** What happened to a record of the account, by topic (design: feed). */
export const change = z
  .discriminatedUnion('topic', [
    changeOf('hosts', z.union([host, hostExec])),
    changeOf(
      'notifications',
      z.union([notification, z.object({ read_at: dateTime }).describe('With the id `all`: every one was read')]),
    ),
    changeOf('heartbeats', heartbeat),
    changeOf(
      'schedules',
      z.union([
        z.object({ id: uuid, name: z.string(), enabled: z.boolean() }),
        z.object({ paused: z.boolean() }).describe('With the id `pause`: all schedules of the account'),
      ]),
    ),
    changeOf(
      'scheduler',
      z.object({ id: uuid, schedule_id: uuid, state: z.enum(runStates), attempt: z.int() }).describe('Of a run'),
    ),
    changeOf('sandboxes', sandbox.omit({ cost_micro_eur: true }).describe('Without its cost, which the usage tells')),
    changeOf('sessions', session),
    changeOf('prompts', prompt),
    changeOf(
      'transcripts',
      z.object({ id: uuid, status: z.enum(transcriptStates), title: z.string(), updated_at: dateTime }),
    ),
    changeOf('environments', environment),
  ])
  .meta({ id: 'Change' });
type ChangeOf<T extends Topic> = Extract<z.input<typeof change>, { topic: T }>;
/** What the feed tells of a record of a topic. */
export type ChangeRecord<T extends Topic> = NonNullable<ChangeOf<T>['record']>;

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
