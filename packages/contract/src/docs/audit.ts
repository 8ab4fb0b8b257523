import type { audit } from '../audit.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

/** Descriptions and examples of the route of the audit log. */
export const auditDocs = {
  list: {
    description:
      'Lines are never changed, and go when the installation keeps them no longer. Give `action` as `keys.create`, or as ' +
      '`keys` for all of that feature. `next_cursor` asks for the next, older page; what is written meanwhile does not ' +
      'shift it.',
    example: {
      query: { action: 'keys', limit: 20 },
      response: {
        acts: [
          {
            id: '4182',
            at: '2026-11-02T08:15:00.000Z',
            who: 'key',
            key: { id: samples.caller, name: 'Owner', prefix: 'svc_EXAM' },
            address: '203.0.113.7',
            action: 'keys.create',
            subject: samples.key,
            details: {
              name: 'Dashboard',
              prefix: 'svc_EXAM',
              scopes: ['schedules:read', 'heartbeats:read'],
              tool_level: 'l1',
            },
            trace_id: '0f4f6d0a-4c1e-4f0e-8a49-0f5d2a6d7e11',
          },
        ],
      },
    },
  },
} satisfies Docs<typeof audit>;
