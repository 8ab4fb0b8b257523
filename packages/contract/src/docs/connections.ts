import type { connection, connections } from '../connections.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const dashboard: z.output<typeof connection> = {
  id: samples.connection,
  client_id: 'https://dashboard.example.com/client.json',
  name: 'Dashboard',
  trust: 'document',
  host: 'dashboard.example.com',
  scopes: ['schedules:read', 'heartbeats:read'],
  resources: ['https://api.example.com'],
  key_ids: [samples.key],
  let_in: [],
  let_in_total: 0,
  changed: [],
  created_at: '2026-11-02T08:15:00.000Z',
};

/** Descriptions and examples of the routes of connections. */
export const connectionsDocs = {
  list: {
    description:
      'An app is listed once, however often it connected. `trust` says who vouches for its name: nobody does for an ' +
      '`unknown` one, which registered itself.',
    example: { query: { limit: 100 }, response: { connections: [dashboard] } },
  },
  get: {
    description: 'An app that was disconnected is 404, as one that was never let in.',
    example: { params: { id: samples.connection }, response: { connection: dashboard } },
  },
  disconnect: {
    description:
      'Every gateway knows it when the answer comes. Members that the app added go, roles, ports and webhooks are what they ' +
      'were before it, its links and keys end, and what else it changed is undone or told (`changed`). A key or another app ' +
      'that may do less than the app gets 403.',
    example: {
      params: { id: samples.connection },
      response: { deleted: true, id: samples.connection, keys_revoked: 1, taken_back: 0 },
    },
  },
} satisfies Docs<typeof connections>;
