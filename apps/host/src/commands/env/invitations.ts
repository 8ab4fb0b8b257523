import { uuid } from '@svc/contract';
import { type CommonOptions } from '../../config.ts';
import { CommandError } from '../../failure.ts';
import { table } from '../../table.ts';
import { answered, openGateway } from './gateway.ts';

/** `svc env invitations`: who invites the caller, as a table or as JSON. */
export async function listInvitations(options: CommonOptions): Promise<void> {
  const { client, output } = await openGateway(options);
  const answer = await answered(client.environments.listInvitations());
  if (options.json) return output.json(answer);
  const { invitations } = answer;
  if (invitations.length === 0) return output.log('nobody invites you');
  const rows = invitations.map((one) => [one.invited_by.email, one.role, one.environment_name, one.environment_id]);
  for (const line of table([['FROM', 'ROLE', 'NAME (THEIRS)', 'ID'], ...rows])) output.line(line);
  output.log('svc env accept <id>, or svc env decline <id>');
}

/**
 * `svc env accept`: the caller is a member from now on. Who is to own it says so: its quota and costs come with that.
 */
export async function accept(target: string, options: CommonOptions & { role?: string }): Promise<void> {
  const id = idOf(target);
  const { client, output } = await openGateway(options);
  const { invitations } = await answered(client.environments.listInvitations());
  const role = invitations.find(({ environment_id: of }) => of === id)?.role;
  if (role === 'owner' && options.role !== role)
    throw new CommandError(`you are to own it, with its costs; to agree: svc env accept ${target} --role owner`);
  if (options.role !== undefined && role !== undefined && options.role !== role)
    throw new CommandError(`they invite you as ${role}, not as ${options.role}: see svc env invitations`);
  const body = role === undefined ? {} : { role };
  const answer = await answered(client.environments.acceptInvitation({ params: { id }, body }), 1, target);
  if (options.json) return output.json(answer);
  output.log(`you are ${answer.member.role} there: svc env list`);
}

/** `svc env decline`: the environment is not told, and cannot ask again for 30 days. */
export async function decline(target: string, options: CommonOptions): Promise<void> {
  const id = idOf(target);
  const { client, output } = await openGateway(options);
  const { invitations } = await answered(client.environments.listInvitations());
  const found = invitations.find(({ environment_id: of }) => of === id);
  if (!found) throw new CommandError(`nobody invites you to ${target}: see svc env invitations`);
  const answer = await answered(client.environments.removeMember({ params: { id, userId: found.user_id } }), 1, target);
  if (options.json) return output.json(answer);
  output.log('declined; they are not told');
}

function idOf(target: string): string {
  const id = uuid.safeParse(target);
  if (id.success) return id.data;
  throw new CommandError(`"${target}" is no id of an invitation: see svc env invitations`);
}
