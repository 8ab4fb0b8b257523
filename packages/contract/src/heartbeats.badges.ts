import { z } from 'zod';
import { dateTime, nextCursor, page, uuid } from './fields.ts';
import { bytes, json, route } from './route.ts';

/** Common part of every badge: a picture of a state for any page, and nothing else. */
const badge = {
  method: 'GET',
  auth: 'open',
  cors: true,
  errors: ['not_found', 'rate_limit_exceeded', 'unavailable'],
} as const;
const badgeParams = z.object({ badge_token: z.string() });
const madeBadge = json(
  z.object({ svg_url: z.string(), json_url: z.string(), created_at: dateTime }).meta({ id: 'CreatedBadge' }),
  201,
);

/** Public addresses that show the state of monitors: all additive, the documents have none. */
export const badges = {
  listBadges: route({
    method: 'GET',
    path: '/v1/heartbeats/badges',
    summary: 'What has a badge, newest first, without the addresses',
    auth: 'key',
    query: z.object(page),
    answers: json(
      z.object({
        badges: z.array(
          z
            .object({
              heartbeat_id: uuid.optional().describe('Absent: of all monitors of the account'),
              created_at: dateTime,
            })
            .meta({ id: 'Badge' }),
        ),
        ...nextCursor,
      }),
    ),
  }),
  createBadge: route({
    method: 'POST',
    path: '/v1/heartbeats/{id}/badge',
    summary: "Show a monitor's name and state at a public address, in this response only; the one before answers 404",
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    params: z.object({ id: uuid }),
    answers: madeBadge,
  }),
  removeBadge: route({
    method: 'DELETE',
    path: '/v1/heartbeats/{id}/badge',
    summary: 'End the public address of a monitor',
    auth: 'key',
    params: z.object({ id: uuid }),
    answers: json(z.object({ deleted: z.literal(true) })),
  }),
  createAccountBadge: route({
    method: 'POST',
    path: '/v1/heartbeats/badge',
    summary:
      'Show the worst state of all monitors at a public address, in this response only; the one before answers 404',
    auth: 'key',
    idempotent: true,
    shownOnce: true,
    answers: madeBadge,
  }),
  removeAccountBadge: route({
    method: 'DELETE',
    path: '/v1/heartbeats/badge',
    summary: 'End the public address of all monitors together',
    auth: 'key',
    answers: json(z.object({ deleted: z.literal(true) })),
  }),
  badgeSvg: route({
    ...badge,
    path: '/badge/{badge_token}.svg',
    summary: 'A badge as a picture',
    params: badgeParams,
    answers: bytes(0, 'image/svg+xml'),
  }),
  badgeJson: route({
    ...badge,
    path: '/badge/{badge_token}.json',
    summary: 'A badge as an endpoint of shields.io',
    params: badgeParams,
    answers: json(
      z
        .object({
          schemaVersion: z.literal(1),
          label: z.string().describe("The monitor's name; `monitors` for all of the account"),
          message: z.enum(['new', 'up', 'late', 'down', 'paused']),
          color: z.enum(['brightgreen', 'orange', 'red', 'lightgrey']),
        })
        .meta({ id: 'BadgeEndpoint' }),
    ),
  }),
};
