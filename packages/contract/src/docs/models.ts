import type { models } from '../models.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the route of models. */
export const modelsDocs = {
  list: {
    description: 'Names of the providers file: aliases first. A key with an allow-list sees what is on it.',
    example: {
      response: {
        object: 'list',
        data: [
          {
            id: 'svc',
            object: 'model',
            type: 'model',
            display_name: 'svc',
            created: 1795000000,
            created_at: '2026-11-18T11:06:40.000Z',
            owned_by: 'svc',
          },
        ],
        has_more: false,
        first_id: 'svc',
        last_id: 'small-1',
      },
    },
  },
  get: {
    description:
      'As the list has it. A name with a slash is written with `%2F`. `created` is when the providers file was.',
    example: {
      params: { name: 'small-1' },
      response: {
        id: 'small-1',
        object: 'model',
        type: 'model',
        display_name: 'small-1',
        created: 1795000000,
        created_at: '2026-11-18T11:06:40.000Z',
        owned_by: 'svc',
      },
    },
  },
} satisfies Docs<typeof models>;
