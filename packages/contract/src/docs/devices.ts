import type { device, devices } from '../devices.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const laptop: z.output<typeof device> = {
  id: samples.device,
  name: "Ana's laptop",
  platform: 'desktop',
  created_at: '2026-11-02T08:15:00.000Z',
  last_seen: '2026-11-02T09:30:12.000Z',
};

/** Descriptions and examples of the routes of devices. */
export const devicesDocs = {
  list: {
    description:
      'A device appears with its first request that carries `x-svc-device`; `x-svc-device-name` and ' +
      '`x-svc-device-platform` of later requests change what is listed. The id is chosen by the client, and means ' +
      'something within its account only. Without `limit` the first 1,000 come; `next_cursor` asks for the next page.',
    example: {
      query: { limit: 100 },
      response: {
        devices: [laptop],
      },
    },
  },
  get: {
    description:
      'Whichever key of the account it calls with. 404 means that no request of the account has named the device, or that ' +
      'it was deleted since.',
    example: { params: { id: samples.device }, response: laptop },
  },
  remove: {
    description:
      'For a device that is not used any more. A device that calls again is registered anew: to keep one away, revoke ' +
      'its key. Schedules that name it as their target wait until they are given another.',
    example: { params: { id: samples.device }, response: { deleted: true, id: samples.device } },
  },
} satisfies Docs<typeof devices>;
