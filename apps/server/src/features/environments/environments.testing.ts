import assert from 'node:assert/strict';
import { http, type TestAccount, type TestGateway } from '../../testing.ts';

type Gateway = Pick<TestGateway, 'url'>;
type Account = Pick<TestAccount, 'key'>;

/** A call of an account; its answer. */
const post = async (gateway: Gateway, { key }: Account, path: string, body: object) => {
  const answer = await http(gateway.url, path, { method: 'POST', key, body });
  assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};

/** Makes a project with these fields; answers its id. */
export async function projectOf(gateway: Gateway, account: Account, fields: object = {}): Promise<string> {
  return (await post(gateway, account, '/v1/projects', { name: 'Shop', ...fields })).project.id;
}

/** Makes an environment of one's own machine, in a project of its own unless one is given; answers its id. */
export async function environmentOf(gateway: Gateway, account: Account, project?: string): Promise<string> {
  const slug = `p-${Math.random().toString(36).slice(2, 12)}`;
  const body = {
    project_id: project ?? (await projectOf(gateway, account, { slug })),
    provider: 'byo',
    name: 'Workstation',
  };
  return (await post(gateway, account, '/v1/environments', body)).environment.id;
}

/** Invites the account of an address. */
export async function invite(
  gateway: Gateway,
  { id, by, email, role }: { id: string; by: Account; email: string; role: string },
): Promise<void> {
  await post(gateway, by, `/v1/environments/${id}/members`, { email, role });
}

/** Accepts an invitation. */
export async function accept(gateway: Gateway, account: Account, id: string): Promise<void> {
  await post(gateway, account, `/v1/environments/${id}/members/me/accept`, {});
}

/** Makes an account a member, which it agrees to. */
export async function join(
  gateway: Gateway,
  id: string,
  { by, account, role }: { by: Account; account: Pick<TestAccount, 'key' | 'email'>; role: string },
): Promise<void> {
  await invite(gateway, { id, by, email: account.email, role });
  await accept(gateway, account, id);
}
