import { z } from 'zod';
import { dateTime, nextCursor, page, uuid } from './fields.ts';
import { json, route } from './route.ts';

/** A device of the account, registered by its first call with `x-svc-device` (document 1, Shared request headers). */
export const device = z
  .object({
    id: uuid,
    name: z.string(),
    platform: z.string(),
    created_at: dateTime,
    last_seen: dateTime,
  })
  .meta({ id: 'Device' });

/** Devices of the caller's account (design: kernel, devices). */
export const devices = {
  list: route({
    method: 'GET',
    path: '/v1/devices',
    summary: "The account's devices, most recently seen first",
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ devices: z.array(device), ...nextCursor })),
  }),
  // Not in the documents.
  get: route({
    method: 'GET',
    path: '/v1/devices/{id}',
    summary: 'One device',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(device),
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/devices/{id}',
    summary: 'Forget a device, with what it is as a machine of the scheduler and the commands approved for it',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
  }),
};
