import type { z } from 'zod';
import type { note, notes } from '../notes.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const milk: z.output<typeof note> = {
  id: samples.note,
  text: 'Buy milk',
  status: 'open',
  created_at: '2026-11-02T09:00:00.000Z',
};

/** Descriptions and examples of the routes of notes. */
export const notesDocs = {
  create: {
    description:
      'A note is open until somebody finishes it. Done ones are kept for 30 days, open ones until they are deleted.',
    example: { body: { text: 'Buy milk' }, response: milk },
  },
  list: {
    description: 'Without `limit` the first 1,000 come; `next_cursor` asks for the next page.',
    example: { query: { limit: 100 }, response: { notes: [milk] } },
  },
  finish: {
    description: 'A note that is done stays so: a second call answers the same record and changes nothing.',
    example: { params: { id: samples.note }, response: { ...milk, status: 'done' } },
  },
  remove: {
    description: 'It is gone at once, on all devices of the account. A note of another account is answered with 404.',
    example: { params: { id: samples.note }, response: { deleted: true, id: samples.note } },
  },
  stream: {
    description: 'Each note of the account as it is kept, done or deleted; send the last `cursor` as `after` to go on.',
    example: { response: { event: 'note', data: { op: 'created', note: milk, cursor: samples.cursor } } },
  },
} satisfies Docs<typeof notes>;
