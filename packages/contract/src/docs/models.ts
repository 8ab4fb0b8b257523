import type { models } from '../models.ts';
import type { Docs } from './docs.ts';

/** What a person reads of the route of models. */
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
            created: 0,
            created_at: '1970-01-01T00:00:00.000Z',
            owned_by: 'svc',
          },
        ],
        has_more: false,
        first_id: 'svc',
        last_id: 'small-1',
      },
    },
  },
} satisfies Docs<typeof models>;
