import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, uuid } from './fields.ts';

/** States of an environment (document 3, Environment; design: environments). */
export const environmentStates = [
  'pending',
  'creating',
  'enrolling',
  'running',
  'stopping',
  'stopped',
  'starting',
  'archived',
  'failed',
  'destroying',
  'destroyed',
] as const;

/** Roles in an environment, weakest first (document 3, Member). */
export const environmentRoles = ['viewer', 'developer', 'maintainer', 'owner'] as const;

/** Who reaches a published port (document 3, Port; design: "Who may"). */
export const portVisibilities = ['owner', 'org', 'authenticated', 'public'] as const;

/** Whose machine it is: one's own, or one at a provider. */
export const environmentProviders = ['byo', 'managed_a', 'managed_b'] as const;

/** Sizes of a machine at a provider. */
export const environmentSizes = ['small', 'medium', 'large'] as const;

/** A machine that a developer works on (document 3, Environment). Its fields are in camelCase, as stored. */
export const environment = z
  .object({
    id: uuid,
    projectId: uuid,
    ownerUserId: uuid,
    orgId: uuid.nullable(),
    forUserId: uuid.nullable(),
    for_user_id: uuid.nullable(),
    isolation: z.string(),
    name: z.string(),
    slug: z.string(),
    provider: z.enum(environmentProviders),
    region: z.string().nullable(),
    size: z.enum(environmentSizes).nullable(),
    state: z.enum(environmentStates),
    stateReason: z.string().nullable(),
    deviceId: uuid.nullable(),
    providerRef: z.string().nullable(),
    publicIp: z.string().nullable(),
    idleTimeoutMinutes: z.int(),
    lastActivityAt: dateTime.nullable(),
    startedAt: dateTime.nullable(),
    stoppedAt: dateTime.nullable(),
    hourlyRateMicroEur: z.int().nullable(),
    includedHoursUsedSeconds: z.int(),
    metadata: z.record(z.string(), z.unknown()),
    createdAt: dateTime,
    updatedAt: dateTime,
  })
  .meta({ id: 'Environment' });

/** A change of an environment, by its number (document 3, Environment). */
export const environmentEvent = z.object({
  id: z.int(),
  environmentId: uuid,
  actorUserId: uuid.nullable(),
  actorKind: z.enum(['user', 'daemon', 'system']),
  kind: z.string().describe('`state:<from>-><to>` for a move'),
  payload: z.record(z.string(), z.unknown()),
  createdAt: dateTime,
});

const agreedToOwn = z
  .boolean()
  .describe('Of an owner: whether they accepted that; the environment, its quota and costs become theirs only then');

/** Somebody with a role in an environment (document 3, Member). */
export const environmentMember = z.object({
  user_id: uuid,
  role: z.enum(environmentRoles),
  email: z.string(),
  name: z.string().nullable(),
  linux_username: z.string(),
  port_range_start: z.int(),
  ssh_public_key: z.boolean().describe('Whether there is one; the key is never returned'),
  provisioned_at: dateTime.nullable(),
  created_at: dateTime,
  accepted_at: dateTime.nullable().describe('Null: invited; they see nothing of it and may do nothing there'),
  agreed_to_own: agreedToOwn.optional(),
});

/** An invitation into an environment, as whoever is invited sees it. */
export const environmentInvitation = z.object({
  user_id: uuid.describe('Of who is invited: DELETE of this member declines'),
  environment_id: uuid,
  environment_name: z.string().describe('Chosen by its people: 120 characters, none unprintable'),
  role: z.enum(environmentRoles),
  invited_by: z.object({ user_id: uuid, email: z.string() }),
  created_at: dateTime,
});

/** A port of an environment that others may reach (document 3, Port). */
export const environmentPort = z.object({
  id: uuid,
  environmentId: uuid,
  port: z.int(),
  protocol: z.enum(['http']),
  label: z.string().nullable(),
  visibility: z.enum(portVisibilities),
  openedByUserId: uuid.nullable(),
  createdAt: dateTime,
  updatedAt: dateTime,
});

/** A secret as lists show it: its value is never answered (document 3, Secret). */
export const environmentSecret = z.object({
  name: z.string(),
  created_by_user_id: uuid.nullable(),
  created_at: dateTime,
  updated_at: dateTime,
});

/** Codes of environments (document 3, Errors). */
export const environmentErrors = {
  invalid_transition: { status: 409, type: 'conflict_error' },
  not_byo: { status: 409, type: 'conflict_error' },
  not_enrollable: { status: 409, type: 'conflict_error' },
  invitation_changed: { status: 409, type: 'conflict_error' },
  already_member: { status: 409, type: 'conflict_error' },
  vm_per_dev_single_member: { status: 409, type: 'conflict_error' },
  last_owner: { status: 409, type: 'conflict_error' },
  already_has_env: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;
