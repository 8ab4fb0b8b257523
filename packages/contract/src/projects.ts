import { z } from 'zod';
import { environment } from './environments.shapes.ts';
import type { ErrorKind } from './errors.ts';
import { dateTime, jsonObject, nextCursor, page, resettable, text, uuid } from './fields.ts';
import { json, route } from './route.ts';
import { freshSeconds } from './strength.ts';

/** How the people of a project share its machines (document 3, Project). */
export const isolations = ['shared_vm', 'container', 'vm_per_dev'] as const;

/** A group of environments (document 3, Project). Its fields are in camelCase, as stored. */
export const project = z
  .object({
    id: uuid,
    ownerUserId: uuid,
    orgId: uuid.nullable(),
    name: z.string(),
    slug: z.string(),
    repoUrl: z.string().nullable(),
    defaultBranch: z.string(),
    devcontainerPath: z.string().nullable(),
    isolation: z.enum(isolations),
    settings: z.record(z.string(), z.unknown()),
    createdAt: dateTime,
    updatedAt: dateTime,
  })
  .meta({ id: 'Project' });

/** A name in addresses: 3 to 40 small letters, digits and dashes (document 3, Environment). */
export const placeSlug = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$/,
    'must be 3 to 40 lower-case letters, digits and dashes, with no dash at either end',
  );

/** Codes of projects (document 3, Errors). */
export const projectErrors = {
  slug_taken: { status: 409, type: 'conflict_error' },
  project_has_environments: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** `https`, `ssh` or `git@host:path`. A password in it would be shown to everybody who sees the project. */
const repoUrl = text(2_000)
  .regex(
    /^(?:https:\/\/[^\s]+|ssh:\/\/[^\s]+|[\w.-]+@[\w.-]+:[^\s]+)$/i,
    'must be an https or ssh address, such as https://example.com/team/app.git',
  )
  .refine(
    (value) => !/^\w+:\/\/[^/?#]*:[^/?#@]*@/.test(value) && !/^https:\/\/[^/?#]*@/i.test(value),
    'must not hold a password or a token: make it a secret of the environment',
  )
  .refine((value) => !/^\w+:\/\/-/.test(value), 'must have a host name that does not begin with a dash');
/** A word that git takes for no option. */
const branch = text(255)
  .min(1)
  .refine((value) => !value.startsWith('-'), 'must not begin with a dash');
const devcontainerPath = text(1_024)
  .min(1)
  .refine((value) => !value.split(/[/\\]/).includes('..'), 'must not lead out of the repository');
const name = text(120).refine((value) => value.trim() !== '', 'must not be blank');
const settings = jsonObject(16_000);
const byId = z.object({ id: uuid });
const one = json(z.object({ project }));

/** Projects (document 3, Projects and environments; design: environments). */
export const projects = {
  list: route({
    method: 'GET',
    path: '/v1/projects',
    summary: "The caller's projects and those of their organisations, newest first",
    auth: 'key',
    query: z.object(page),
    answers: json(z.object({ projects: z.array(project), ...nextCursor })),
  }),
  create: route({
    method: 'POST',
    path: '/v1/projects',
    summary: 'Make a project',
    auth: 'key',
    idempotent: true,
    takes: json(
      z.object({
        name,
        repo_url: repoUrl.optional(),
        isolation: z.enum(isolations).default('shared_vm'),
        org_id: uuid.optional().describe('An organisation that the caller owns or administers'),
        slug: placeSlug.optional().describe('Default: from the name. It cannot be changed'),
        default_branch: branch.default('main').describe('Additive'),
        devcontainer_path: devcontainerPath.optional().describe('Additive'),
        settings: settings.default({}).describe('Additive'),
      }),
    ),
    answers: json(z.object({ project }), 201),
    errors: ['not_found', 'slug_taken', 'quota_exceeded'],
  }),
  get: route({
    method: 'GET',
    path: '/v1/projects/{id}',
    summary: 'One project, and those of its environments in which the caller has a role',
    auth: 'key',
    params: byId,
    answers: json(z.object({ project, environments: z.array(environment) })),
    errors: ['not_found'],
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/projects/{id}',
    summary: 'Change a project; its owner, or an owner or admin of its organisation',
    auth: 'key',
    params: byId,
    takes: json(
      z
        .object({
          name: name.optional(),
          repo_url: resettable(repoUrl),
          isolation: resettable(z.enum(isolations)),
          default_branch: resettable(branch),
          devcontainer_path: resettable(devcontainerPath),
          settings: resettable(settings).describe('In place of those before'),
          slug: z.never('cannot be changed').optional(),
        })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required'),
    ),
    answers: one,
    errors: ['not_found'],
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/projects/{id}',
    summary: 'Delete a project whose environments are all destroyed',
    auth: 'key',
    freshWithin: freshSeconds,
    params: byId,
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
    errors: ['not_found', 'project_has_environments'],
  }),
};
