import { z } from 'zod';
import { dateTime, limit, nextCursor, resettable, text, uuid } from './fields.ts';
import { json, route } from './route.ts';
import { hostKinds, hostTags } from './scheduler.shapes.ts';

/** A machine of the account, whatever it serves as (design: hub; additive). */
export const machine = z
  .object({
    device_id: uuid,
    name: z.string(),
    platform: z.string(),
    os: z.string().optional().describe('As `hostname`: told while it is present as a host'),
    hostname: z.string().optional(),
    online: z.boolean().describe('Present as a host or on a relay, or seen by the scheduler in the last 45 s'),
    last_seen: dateTime,
    roots: z.array(z.string()).describe('Folders that it serves as a host'),
    tags: z.array(z.string()),
    kinds: z.array(z.enum(hostKinds)).describe('Work that it takes of schedules'),
    serves: z
      .array(z.enum(['hosts', 'scheduler', 'environment']))
      .describe('`hosts`: it takes commands now. `scheduler`: it takes runs. `environment`: it is the machine of one'),
    paused: z.boolean().describe('Takes no runs'),
    max_parallel: z.int().optional().describe('Unset: the machine decides'),
    running: z.int().describe('Runs that it holds'),
    approvals_waiting: z.int().describe('Commands that may come to it and were not approved on it'),
    environment_id: uuid.optional(),
  })
  .meta({ id: 'Machine' });

const byDevice = z.object({ device_id: uuid });
const flag = z.enum(['true', 'false']);

/** Machines of the account in one list (additive). */
export const machines = {
  list: route({
    method: 'GET',
    path: '/v1/machines',
    summary: "The account's machines, newest first",
    auth: 'key',
    query: z.object({
      q: text(200).optional().describe('A part of its name or hostname'),
      online: flag.optional(),
      tag: text(60).min(1).optional(),
      limit: limit(200, 50),
      cursor: text(200).min(1).optional().describe('`next_cursor` of the page before'),
    }),
    answers: json(z.object({ machines: z.array(machine), ...nextCursor })),
  }),
  get: route({
    method: 'GET',
    path: '/v1/machines/{device_id}',
    summary: 'One machine',
    auth: 'key',
    params: byDevice,
    answers: json(machine),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/machines/{device_id}',
    summary: 'Rename, tag, pause or limit a machine that takes runs',
    auth: 'key',
    params: byDevice,
    takes: json(
      z.object({
        name: resettable(text(120).min(1)).describe("`null`: the device's name"),
        tags: resettable(hostTags).describe('In place of the tags that the machine reports; `null`: those again'),
        paused: z.boolean().optional(),
        max_parallel: resettable(z.int().min(1).max(10_000)).describe('`null`: the machine decides'),
      }),
    ),
    answers: json(machine),
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/machines/{device_id}',
    summary: 'Forget a machine, with the commands approved for it, and revoke the key that it serves with',
    auth: 'key',
    params: byDevice,
    answers: json(
      z.object({
        deleted: z.literal(true),
        device_id: uuid,
        key_revoked: z.boolean().describe('False: it serves with a key that may do more, or has none'),
      }),
    ),
  }),
  approvals: route({
    method: 'GET',
    path: '/v1/machines/{device_id}/approvals',
    summary: 'Commands that wait for approval on a machine, newest first',
    auth: 'key',
    params: byDevice,
    query: z.object({
      limit: limit(200, 50),
      cursor: text(200).min(1).optional().describe('`next_cursor` of the page before'),
    }),
    answers: json(
      z.object({
        approvals: z.array(
          z.object({
            schedule_id: uuid,
            name: z.string(),
            command: z.string().describe('Its first 2,000 characters'),
            command_hash: z.string(),
            since: dateTime.describe('When the schedule was changed last'),
            line: z.string().describe('To type at a terminal of the machine: nothing else approves'),
          }),
        ),
        ...nextCursor,
      }),
    ),
  }),
};
