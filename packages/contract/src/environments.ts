import { z } from 'zod';
import { environmentPeople } from './environments.people.ts';
import {
  environment,
  environmentEvent,
  environmentMember,
  environmentPort,
  environmentProviders,
  environmentRoles,
  environmentSizes,
  environmentStates,
} from './environments.shapes.ts';
import { nextCursor, numberCursor, page, text, uuid } from './fields.ts';
import { placeSlug } from './projects.ts';
import { json, route } from './route.ts';
import { freshSeconds } from './strength.ts';

const byId = z.object({ id: uuid });
const name = text(120).refine((value) => value.trim() !== '', 'must not be blank');
const idleTimeout = z.int().min(5).max(1_440);
const one = json(z.object({ environment }));
/** A move and what it led to. */
const moved = json(z.object({ environment, from: z.enum(environmentStates), to: z.enum(environmentStates) }));
/** Fields that only a machine at a provider has. */
const ofManaged = ['size', 'region', 'budget_micro_eur'] as const;

const newEnvironment = z
  .object({
    project_id: uuid,
    provider: z.enum(environmentProviders),
    name: name.optional().describe('Required, but in a `vm_per_dev` project: there it is "<project> — <you>"'),
    slug: placeSlug
      .optional()
      .describe("Default: the project's and 4 random characters. One in the whole installation"),
    size: z.enum(environmentSizes).optional().describe('Managed only; default small'),
    region: text(60).min(1).optional().describe('Managed only; default eu-east-1 or nbg1'),
    idle_timeout_minutes: idleTimeout.default(30),
    budget_micro_eur: z.int().min(0).nullable().optional().describe('Managed only: the cap of a month'),
  })
  .superRefine((body, context) => {
    if (body.provider !== 'byo') return;
    for (const field of ofManaged)
      if (body[field] !== undefined && body[field] !== null)
        context.addIssue({ code: 'custom', path: [field], message: 'only machines at a provider have it' });
  });

const move = <E extends 'insufficient_balance' = never>(
  verb: 'start' | 'stop' | 'archive',
  summary: string,
  further: readonly E[] = [],
) =>
  route({
    method: 'POST',
    path: `/v1/environments/{id}/${verb}` as const,
    summary,
    auth: 'key',
    idempotent: true,
    params: byId,
    answers: moved,
    errors: ['not_found', 'invalid_transition', ...further],
  });

/** Environments (document 3, Projects and environments; design: environments). */
export const environments = {
  list: route({
    method: 'GET',
    path: '/v1/environments',
    summary: 'Environments in which the caller has a role, newest first',
    auth: 'key',
    query: z.object({
      ...page,
      project_id: uuid.optional(),
      for_user_id: z.literal('me').optional().describe('Those made for the caller in `vm_per_dev` projects'),
    }),
    answers: json(z.object({ environments: z.array(environment), ...nextCursor })),
  }),
  create: route({
    method: 'POST',
    path: '/v1/environments',
    summary: 'Make an environment: a machine of your own to be enrolled, or one at a provider',
    auth: 'key',
    idempotent: true,
    takes: json(newEnvironment),
    answers: json(z.object({ environment }), 201),
    errors: ['not_found', 'slug_taken', 'already_has_env', 'quota_exceeded', 'insufficient_balance'],
  }),
  get: route({
    method: 'GET',
    path: '/v1/environments/{id}',
    summary: 'One environment with its members, its published ports and its last 20 events',
    auth: 'key',
    params: byId,
    answers: json(
      z.object({
        environment,
        isolation: z.string(),
        role: z.enum(environmentRoles),
        user_id: uuid.describe('Whose role it is: the caller, who may be among the members'),
        members: z.array(environmentMember),
        ports: z.array(environmentPort),
        events: z.array(environmentEvent),
      }),
    ),
    errors: ['not_found'],
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/environments/{id}',
    summary: 'Change its name or when it counts as idle; maintainers',
    auth: 'key',
    params: byId,
    takes: json(
      z
        .object({
          name: name.optional(),
          idle_timeout_minutes: idleTimeout.nullable().optional(),
          slug: z.never('cannot be changed').optional(),
        })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required'),
    ),
    answers: one,
    errors: ['not_found'],
  }),
  start: move('start', 'Start a machine at a provider; maintainers', ['insufficient_balance']),
  stop: move('stop', 'Stop a machine at a provider; maintainers'),
  archive: move('archive', 'Put it aside: members, ports and secrets stay; maintainers'),
  destroy: route({
    method: 'POST',
    path: '/v1/environments/{id}/destroy',
    summary: 'End it for good, with its secrets; owners',
    auth: 'key',
    freshWithin: freshSeconds,
    idempotent: true,
    params: byId,
    answers: moved,
    errors: ['not_found', 'invalid_transition'],
  }),
  events: route({
    method: 'GET',
    path: '/v1/environments/{id}/events',
    summary: 'What happened to it, newest first',
    auth: 'key',
    params: byId,
    query: z.object({ ...page, cursor: numberCursor }),
    answers: json(z.object({ events: z.array(environmentEvent), ...nextCursor })),
    errors: ['not_found'],
  }),
  ...environmentPeople,
};
