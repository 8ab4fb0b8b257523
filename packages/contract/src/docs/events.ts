import type { events } from '../events.ts';
import type { Docs } from './docs.ts';
import { openPrompt } from './prompts.ts';
import { samples } from './samples.ts';

const changed = {
  cursor: samples.cursor,
  topic: 'prompts',
  op: 'created',
  id: samples.prompt,
  at: '2026-11-02T09:00:00.000Z',
  record: openPrompt,
} as const;

/** Descriptions and examples of the routes of events. */
export const eventsDocs = {
  list: {
    description:
      'For what cannot hold a stream: a watch, a script, a phone in the background. Begin without `after`, read the ' +
      'records, and send `cursor` as `after` from then on. Changes are kept for 7 days, and the last 200,000 of an account; ' +
      'with `missed: true` something is gone: read the records anew.',
    example: {
      query: { after: samples.cursor, topics: 'prompts,notifications', limit: 100 },
      response: { events: [changed], cursor: samples.cursor, missed: false },
    },
  },
  stream: {
    description:
      'The first frame is `ready`; its `cursor` stands before what is sent again, and that of each `change` is good on ' +
      'every stream of the account, as all tell all changes in one order. A client that falls behind by 1 MiB or 1,000 ' +
      'frames is disconnected: it comes back with its last cursor and misses nothing. A monitor is told at most once in 10 ' +
      's unless its status changes.',
    example: { query: { topics: 'prompts' }, response: { event: 'change', data: changed } },
  },
} satisfies Docs<typeof events>;
