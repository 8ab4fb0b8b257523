import { z } from 'zod';
import { action } from './actions.ts';
import { dateTime, limit, text, uuid } from './fields.ts';
import { json, route } from './route.ts';
import { runStates, waitReasons } from './scheduler.shapes.ts';

/** What may need a person. */
export const overviewKinds = [
  'heartbeat_down',
  'heartbeat_late',
  'run_approval',
  'run_failed',
  'run_stuck',
  'transcript_failed',
  'environment_failed',
  'prompt_due',
  'notification_critical',
  'schedules_paused',
] as const;

/** Something that needs a person, with the buttons that mend it (design: hub). */
export const overviewItem = z
  .object({
    id: z.string().describe('Of the record that it is about'),
    kind: z.enum(overviewKinds),
    severity: z.enum(['critical', 'warning', 'info']),
    title: z.string().describe('Name of the thing, as its owner wrote it'),
    waiting_for: z
      .enum(waitReasons)
      .optional()
      .describe('Of `run_stuck`: `no_host`, `tags`, `host_paused` or `not_approved`, as of the run'),
    detail: z.string().optional().describe('At most 300 characters, such as the error of a run'),
    muted_until: dateTime.optional().describe('Of a monitor that is silenced: nobody is told before this'),
    since: dateTime,
    href: z.string().describe('Path of its page below `{hub_url}`'),
    actions: z.array(action),
  })
  .meta({ id: 'OverviewItem' });

/** Parts of the overview, by the feature that tells them. */
export const overviewParts = [
  'heartbeats',
  'scheduler',
  'schedules',
  'machines',
  'sandboxes',
  'notifications',
  'transcripts',
  'environments',
  'prompts',
  'sessions',
] as const;

const counts = z.object({
  heartbeats: z
    .object({ up: z.int(), late: z.int(), down: z.int(), paused: z.int(), new: z.int() })
    .optional()
    .describe('Monitors by status'),
  runs: z.object({ awaiting_approval: z.int(), running: z.int(), failed_24h: z.int() }).optional(),
  machines: z.object({ online: z.int(), away: z.int() }).optional().describe('Those of `GET /v1/machines`'),
  sandboxes: z.object({ running: z.int(), paused: z.int() }).optional(),
  notifications: z.object({ unread: z.int() }).optional(),
  transcripts: z.object({ processing: z.int(), failed: z.int() }).optional(),
  environments: z.object({ running: z.int(), failed: z.int() }).optional(),
  prompts: z.object({ due: z.int() }).optional(),
});

/** A run of the last ones. */
const recentRun = z.object({
  id: uuid,
  schedule_id: uuid,
  name: z.string(),
  state: z.enum(runStates),
  at: dateTime.describe('When it ended; of one that is not over, when it was made'),
});

const foundKinds = [
  'heartbeat',
  'schedule',
  'machine',
  'sandbox',
  'prompt',
  'session',
  'transcript',
  'environment',
] as const;

/** The first page: what needs a person, and what is found by its name (design: hub; not in the documents). */
export const overview = {
  get: route({
    method: 'GET',
    path: '/v1/overview',
    summary: 'What needs a person, worst first, with what mends it; counts, what runs next and what ran last',
    auth: 'key',
    answers: json(
      z.object({
        at: dateTime,
        status: z.enum(['ok', 'attention', 'down']).describe('`down`: something critical is among `attention`'),
        counts,
        attention: z.array(overviewItem).describe('50 at most'),
        next: z.array(z.object({ schedule_id: uuid, name: z.string(), at: dateTime })).describe('5 at most'),
        recent: z.array(recentRun).describe('10 at most'),
        paused: z
          .object({ until: dateTime.optional() })
          .optional()
          .describe("The account's schedules are paused, for ever or until then"),
        unavailable: z.array(z.enum(overviewParts)).describe('Parts that could not be read; the others are whole'),
      }),
    ),
  }),
  find: route({
    method: 'GET',
    path: '/v1/overview/find',
    summary: 'Records whose name has a text, those that begin with it first',
    auth: 'key',
    query: z.object({
      q: text(100).min(1).describe('Part of the name, in any case'),
      kinds: z
        .string()
        .optional()
        .transform((value) => value?.split(',').map((name) => name.trim()))
        .pipe(z.array(z.enum(foundKinds)).optional())
        .describe(`Comma-separated: ${foundKinds.join(', ')}. Default: all`) as unknown as z.ZodOptional<
        z.ZodType<(typeof foundKinds)[number][], string>
      >,
      limit: limit(20, 20),
    }),
    answers: json(
      z.object({
        results: z.array(
          z.object({
            kind: z.enum(foundKinds),
            id: uuid,
            title: z.string(),
            detail: z.string().optional(),
            href: z.string().describe('Path of its page below `{hub_url}`'),
          }),
        ),
      }),
    ),
  }),
};
