import type { machine, machines } from '../machines.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const builder: z.output<typeof machine> = {
  device_id: samples.host,
  name: 'builder',
  platform: '',
  online: true,
  last_seen: '2026-11-02T09:00:00.000Z',
  roots: [],
  tags: ['linux', 'docker'],
  kinds: ['shell', 'http'],
  serves: ['scheduler'],
  paused: false,
  running: 0,
  approvals_waiting: 0,
};
const params = { device_id: samples.host };

/** Descriptions and examples of the routes of machines. */
export const machinesDocs = {
  list: {
    description:
      'A device is a machine once it is present as a host, takes runs, is the machine of an environment, or has a key of ' +
      'its own to serve with. Those that are away stay in the list until they are forgotten. `next_cursor` asks for the ' +
      'next page.',
    example: { query: { q: 'device', limit: 50 }, response: { machines: [builder] } },
  },
  get: {
    description: 'A phone or laptop that only calls is a device and no machine: 404, as for an id that is not known.',
    example: { params, response: builder },
  },
  update: {
    description:
      'Counts for the next run that is given out; what runs already goes on. A machine that has never asked for runs has ' +
      'nothing to change: 400 `bad_request`.',
    example: { params, body: { paused: true }, response: { ...builder, paused: true } },
  },
  remove: {
    description:
      'Its key is revoked on every gateway before the answer comes, where that key can only serve. One that may do more ' +
      'stays: revoke it, or the machine comes back with its next call. The machine of an environment goes with that: 403 ' +
      '`forbidden`.',
    example: { params, response: { deleted: true, device_id: samples.host, key_revoked: false } },
  },
  approvals: {
    description:
      'Nobody approves a command from afar: type `line` at a terminal of the machine, which shows the whole command and ' +
      'asks. A change of the command asks again.',
    example: {
      params,
      query: { limit: 50 },
      response: {
        approvals: [
          {
            schedule_id: samples.schedule,
            name: 'Backup of the site',
            command: 'tar -czf /backup/www.tar.gz .',
            command_hash: '8f6f36eb20ccd4453abb850cc68601d3363493bda460e8d3d2928c751000958c',
            since: '2026-11-02T08:30:00.000Z',
            line: `svc host approve ${samples.schedule}`,
          },
        ],
      },
    },
  },
} satisfies Docs<typeof machines>;
