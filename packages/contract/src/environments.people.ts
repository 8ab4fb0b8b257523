import { z } from 'zod';
import {
  environmentInvitation,
  environmentMember,
  environmentPort,
  environmentRoles,
  environmentSecret,
  portVisibilities,
} from './environments.shapes.ts';
import { dateTime, text, uuid } from './fields.ts';
import { json, route } from './route.ts';
import { gives } from './strength.ts';

const byId = z.object({ id: uuid });
const memberId = z.object({ id: uuid, userId: uuid });
const oneMember = z.object({
  member: environmentMember.pick({
    user_id: true,
    role: true,
    linux_username: true,
    port_range_start: true,
    accepted_at: true,
    agreed_to_own: true,
  }),
});
const role = z.enum(environmentRoles);
const port = z
  .string()
  .regex(/^[1-9]\d{0,4}$/, 'must be a port number')
  .transform(Number)
  .pipe(z.int().min(1).max(65_535)) as unknown as z.ZodType<number, number>;
const byPort = z.object({ id: uuid, port });
const secretName = z
  .string()
  .regex(/^[A-Z_][A-Z0-9_]{0,127}$/, 'must be like an environment variable: A-Z, 0-9 and _, no digit first');
const bySecret = z.object({ id: uuid, name: secretName });
const secretBytes = 65_536;

/** Members, ports, secrets and enrolment of environments. */
export const environmentPeople = {
  enrollToken: route({
    method: 'POST',
    path: '/v1/environments/{id}/enroll-token',
    summary: 'A token for one enrolment within 30 minutes, in place of the one before; maintainers',
    auth: 'key',
    ...gives('serve'),
    ofApps: 'environments:terminal',
    idempotent: true,
    shownOnce: true,
    params: byId,
    answers: json(z.object({ token: z.string(), expires_at: dateTime, environment_id: uuid })),
    errors: ['not_found', 'not_byo', 'not_enrollable'],
  }),
  enroll: route({
    method: 'POST',
    path: '/v1/environments/enroll',
    summary: 'Enrol a machine with a token; its daemon calls this',
    auth: 'open',
    notIdempotent: 'a token is taken once: a repeat of the same device is answered like the first within its time',
    takes: json(
      z.object({
        token: text(200).min(1),
        device_id: uuid,
        daemon_version: text(60).min(1),
        os: text(60).min(1),
        arch: text(60).min(1),
      }),
    ),
    answers: json(
      z.object({
        environment_id: uuid,
        relay_url: z.string(),
        api_key: z.string().optional().describe('Of managed machines, once'),
      }),
    ),
    errors: ['bad_request', 'invalid_api_key', 'not_enrollable', 'already_has_env', 'rate_limit_exceeded'],
  }),
  listMembers: route({
    method: 'GET',
    path: '/v1/environments/{id}/members',
    summary: 'Members of an environment and who is invited, 200 at most',
    auth: 'key',
    params: byId,
    answers: json(z.object({ members: z.array(environmentMember) })),
    errors: ['not_found'],
  }),
  listInvitations: route({
    method: 'GET',
    path: '/v1/environments/invitations',
    summary: 'Invitations of the caller, newest first, 100 at most',
    auth: 'key',
    answers: json(z.object({ invitations: z.array(environmentInvitation) })),
  }),
  addMember: route({
    method: 'POST',
    path: '/v1/environments/{id}/members',
    summary: 'Invite somebody to a role; maintainers, and owners for the role of an owner',
    auth: 'key',
    ...gives('people'),
    idempotent: true,
    params: byId,
    takes: json(z.object({ email: text(320).min(1), role })),
    answers: json(oneMember, 201),
    errors: ['not_found', 'already_member', 'vm_per_dev_single_member', 'quota_exceeded'],
  }),
  acceptInvitation: route({
    method: 'POST',
    path: '/v1/environments/{id}/members/me/accept',
    summary: 'Accept an invitation: the caller is a member from now on',
    auth: 'key',
    notIdempotent: 'a repeat answers the member who is there',
    params: byId,
    takes: json(
      z.object({
        role: role.optional().describe('The role that its person was shown: with another one it is refused'),
      }),
    ),
    answers: json(oneMember),
    errors: ['not_found', 'quota_exceeded', 'invitation_changed'],
  }),
  setSshKey: route({
    method: 'PUT',
    path: '/v1/environments/{id}/members/me/ssh-key',
    summary: 'The SSH key with which the caller comes in; developers',
    auth: 'key',
    ...gives('terminal'),
    ofApps: 'environments:terminal',
    scopes: ['environments', 'environments:terminal'],
    params: byId,
    takes: json(z.object({ public_key: text(16_384).min(1).describe('ssh-ed25519, ecdsa, or ssh-rsa of 2048 bits') })),
    answers: json(z.object({ user_id: uuid, ssh_public_key: z.literal(true) })),
    errors: ['not_found'],
  }),
  updateMember: route({
    method: 'PATCH',
    path: '/v1/environments/{id}/members/{userId}',
    summary: 'Change the role of a member; maintainers, and owners where an owner is concerned',
    auth: 'key',
    ...gives('people'),
    params: memberId,
    takes: json(z.object({ role })),
    answers: json(oneMember),
    errors: ['not_found', 'last_owner'],
  }),
  removeMember: route({
    method: 'DELETE',
    path: '/v1/environments/{id}/members/{userId}',
    summary: 'Take a member out or an invitation back; maintainers, and everybody for themselves: leave, or decline',
    auth: 'key',
    params: memberId,
    answers: json(z.object({ deleted: z.literal(true), user_id: uuid })),
    errors: ['not_found', 'last_owner'],
  }),
  listPorts: route({
    method: 'GET',
    path: '/v1/environments/{id}/ports',
    summary: 'Published ports of an environment, 200 at most',
    auth: 'key',
    params: byId,
    answers: json(z.object({ ports: z.array(environmentPort) })),
    errors: ['not_found'],
  }),
  publishPort: route({
    method: 'PUT',
    path: '/v1/environments/{id}/ports/{port}',
    summary: 'Publish a port, or change who reaches it; developers, and maintainers for `public`',
    auth: 'key',
    params: byPort,
    takes: json(
      z.object({
        visibility: z.enum(portVisibilities),
        label: text(64).nullable().optional(),
        protocol: z.enum(['http']).default('http'),
      }),
    ),
    answers: json(z.object({ port: environmentPort })),
    errors: ['not_found', 'quota_exceeded', 'reauth_required'],
  }),
  removePort: route({
    method: 'DELETE',
    path: '/v1/environments/{id}/ports/{port}',
    summary: 'Publish a port no more; developers',
    auth: 'key',
    params: byPort,
    answers: json(z.object({ deleted: z.literal(true), port: z.int() })),
    errors: ['not_found'],
  }),
  linkPort: route({
    method: 'POST',
    path: '/v1/environments/{id}/ports/{port}/link',
    summary: 'The address of a published port for a browser: it has a ticket for one visit within 60 s',
    auth: 'key',
    notIdempotent: 'a second ticket lets in a second browser of the same caller, and nobody else',
    params: byPort,
    answers: json(
      z.object({
        url: z.string(),
        expires_at: dateTime.nullable().describe('Of the ticket; null: the port is public, and needs none'),
      }),
      201,
    ),
    errors: ['not_found', 'daemon_offline', 'unavailable'],
  }),
  listSecrets: route({
    method: 'GET',
    path: '/v1/environments/{id}/secrets',
    summary: 'Names of secrets, 200 at most; developers',
    auth: 'key',
    params: byId,
    answers: json(z.object({ secrets: z.array(environmentSecret) })),
    errors: ['not_found'],
  }),
  setSecret: route({
    method: 'PUT',
    path: '/v1/environments/{id}/secrets/{name}',
    summary: 'Keep a secret, or replace it; it is never answered again. Maintainers',
    auth: 'key',
    params: bySecret,
    takes: json(
      z.object({
        value: z
          .string()
          .refine(
            (value) => new TextEncoder().encode(value).length <= secretBytes,
            'must be at most 65,536 bytes of UTF-8',
          )
          .refine((value) => value.isWellFormed(), 'must be well-formed text'),
      }),
    ),
    answers: json(z.object({ name: z.string(), updated: z.literal(false) }), 201).or(
      200,
      z.object({ name: z.string(), updated: z.literal(true) }),
    ),
    errors: ['not_found', 'quota_exceeded'],
  }),
  removeSecret: route({
    method: 'DELETE',
    path: '/v1/environments/{id}/secrets/{name}',
    summary: 'Delete a secret; maintainers',
    auth: 'key',
    params: bySecret,
    answers: json(z.object({ deleted: z.literal(true), name: z.string() })),
    errors: ['not_found'],
  }),
};
