import type { projects } from '../projects.ts';
import type { Docs } from './docs.ts';
import { exampleEnvironment } from './environments.shapes.ts';
import { samples } from './samples.ts';

const at = '2026-11-02T09:00:00.000Z';
const example = {
  id: samples.project,
  ownerUserId: samples.account,
  orgId: null,
  name: 'Shop',
  slug: 'shop',
  repoUrl: 'https://git.example.com/team/shop.git',
  defaultBranch: 'main',
  devcontainerPath: null,
  isolation: 'shared_vm' as const,
  settings: {},
  createdAt: at,
  updatedAt: at,
};
const byId = { id: samples.project };

/** Descriptions and examples of projects. */
export const projectsDocs = {
  list: {
    description:
      'Your own, those of organisations that you are in, and those in whose environments you have a role. A page has ' +
      '`next_cursor` when there are more.',
    example: { query: { limit: 10 }, response: { projects: [example] } },
  },
  create: {
    description:
      'With `isolation` `vm_per_dev` each developer has an environment alone; the other two share theirs. 409 `slug_taken`: ' +
      'you have a project with this slug, which comes from the name when none is given.',
    example: {
      body: { name: 'Shop', repo_url: 'https://git.example.com/team/shop.git' },
      response: { project: example },
    },
  },
  get: {
    description: 'With the environments in which you have a role, newest first; those of others are not told.',
    example: { params: byId, response: { project: example, environments: [exampleEnvironment] } },
  },
  update: {
    description: '`null` puts a field back to what it is when a project is made without it. The slug stays.',
    example: {
      params: byId,
      body: { name: 'Shop', default_branch: null },
      response: { project: example },
    },
  },
  remove: {
    description:
      'While one of its environments is not destroyed the answer is 409 `project_has_environments`; archived ones count. It says ' +
      'how many these are and whose, and which of them you may destroy.',
    example: { params: { id: samples.otherProject }, response: { deleted: true, id: samples.otherProject } },
  },
} satisfies Docs<typeof projects>;
