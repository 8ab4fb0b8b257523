import { docs } from '@svc/contract/docs';
import type { Makers, Preparation, Scene } from '../../testing.examples.ts';
import { createAccount } from '../../testing.ts';
import { environmentOf, invite } from './environments.testing.ts';

const { projects, environments } = docs;

/** Makes what the examples of projects and environments refer to. */
export const environmentMakers: Partial<Makers> = {
  account: ({ account }) => Promise.resolve(account.id),
  project: async (scene) => (await scene.call('POST', '/v1/projects', projects.create.example.body)).project.id,
  otherProject: async (scene) => (await scene.call('POST', '/v1/projects', { name: 'Nothing in it' })).project.id,
  async environment(scene) {
    const body = await scene.real(environments.create.example.body);
    return (await scene.call('POST', '/v1/environments', body)).environment.id;
  },
  enrolToken: async (scene) =>
    (await scene.call('POST', `/v1/environments/${await scene.id('environment')}/enroll-token`)).token,
  memberEmail: async ({ gateway }) => (await createAccount(gateway)).email,
  async member(scene) {
    const body = await scene.real(environments.addMember.example.body);
    const path = `/v1/environments/${await scene.id('environment')}/members`;
    return (await scene.call('POST', path, body)).member.user_id;
  },
  async invitedTo({ gateway, account }) {
    const owner = await createAccount(gateway);
    const id = await environmentOf(gateway, owner);
    await invite(gateway, { id, by: owner, email: account.email, role: 'developer' });
    return id;
  },
};

/** As if its machine were at a provider. */
async function atProvider(scene: Scene, state: string): Promise<void> {
  await scene.gateway.kernel.sql`
    update environments.environments
    set provider = 'managed_b', region = 'nbg1', size = 'small', hourly_rate_micro_eur = 30000,
      metadata = '{"budget_micro_eur": null}', state = ${state}
    where id = ${await scene.id('environment')}`;
}

/** What must have happened before their examples are sent. */
export const environmentPreparations: Record<string, Preparation> = {
  'projects.get': { before: (scene) => scene.id('environment') },
  'environments.listInvitations': { before: (scene) => scene.id('invitedTo') },
  'environments.start': { before: (scene) => atProvider(scene, 'stopped') },
  'environments.stop': { before: (scene) => atProvider(scene, 'running') },
  'environments.linkPort': {
    before: async (scene) => {
      const id = await scene.id('environment');
      await scene.call('PUT', `/v1/environments/${id}/ports/4000`, { visibility: 'owner' });
      await scene.gateway.kernel.sql`update environments.environments set state = 'running' where id = ${id}`;
    },
  },
  'environments.removePort': {
    before: async (scene) =>
      scene.call('PUT', `/v1/environments/${await scene.id('environment')}/ports/8080`, { visibility: 'owner' }),
  },
  'environments.removeSecret': {
    before: async (scene) =>
      scene.call('PUT', `/v1/environments/${await scene.id('environment')}/secrets/OLD_TOKEN`, { value: 'x' }),
  },
};
