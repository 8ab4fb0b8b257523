import { CommandError } from '../../../kernel/base/command-error.ts';
import { createMetrics } from '../../../kernel/base/metrics.ts';
import type { Admin } from '../../../kernel/commands.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { byCommand } from '../../../kernel/records/audit.ts';
import { FeedWriter } from '../../../kernel/streams/feed.writer.ts';
import { findEmail } from '../../accounts/index.ts';
import { passOn } from '../environments.machines.ts';
import { tellHandedOver } from './notify.ts';
import type { MemberRow } from '../environments.rows.ts';
import { lockEnvironment } from '../environments.sql.ts';
import type { EnvironmentState } from '../environments.states.ts';
import { type Doer, Environments } from '../environments.store.ts';
import { servesWith } from './pass-on.ts';
import { changeRole, deleteMember, environmentsOwnedAlone, heirOf } from './members.sql.ts';

/** What becomes of an environment whose only owner leaves. */
interface HandedOver {
  environment: string;
  /** E-mail address of who owns it then. */
  to: string;
}

type Owned = Awaited<ReturnType<typeof environmentsOwnedAlone>>[number];
type Heir = Pick<MemberRow, 'account_id' | 'role'>;

/** Its heir would pay for a machine that they did not start, or its machine waits for what goes with the account. */
const underWay: ReadonlySet<EnvironmentState> = new Set(['creating', 'enrolling', 'starting', 'stopping']);

/** Why an environment cannot be handed over now, and what to do; undefined: it can. */
function whyNot({ name, id, provider, state }: Owned, heir: Heir | undefined): string | undefined {
  const which = `the environment ${name} (${id})`;
  if (!heir)
    return `nobody can take over ${which}: it has no maintainer or developer who is not suspended; resume a member or make one a developer, or destroy it first`;
  if (provider !== 'byo' && underWay.has(state))
    return `the machine of ${which} is ${state}; wait until it runs or has stopped, or destroy it first`;
  return undefined;
}

/**
 * Why the environments that an account alone owns, and that have other members, cannot be handed over; undefined: they
 * can.
 */
export async function whyNotHandedOver(db: Db, accountId: string): Promise<string | undefined> {
  for (const owned of await environmentsOwnedAlone(db, accountId)) {
    const why = whyNot(owned, await heirOf(db, owned.id, accountId));
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Whose each of these environments would be. */
export async function heirsOf(db: Db, accountId: string): Promise<HandedOver[]> {
  const all: HandedOver[] = [];
  for (const { id, slug } of await environmentsOwnedAlone(db, accountId)) {
    const heir = await heirOf(db, id, accountId);
    if (heir) all.push({ environment: slug, to: await addressOf(db, heir) });
  }
  return all;
}

const addressOf = async (db: Db, { account_id: id }: Heir): Promise<string> => (await findEmail(db, id)) ?? id;

/**
 * Gives environments that an account alone owns, and that have other members, to one of these: who has the highest
 * role, and of those who is there longest. A machine at a provider is stopped: nobody pays for one that they did not
 * start. All members hear of it. Throws when one cannot be given to anybody.
 */
export async function handOver(admin: Admin, tx: Db, accountId: string): Promise<HandedOver[]> {
  const feed = new FeedWriter(admin);
  const kernel = { ...admin, feed, metrics: createMetrics() };
  const environments = new Environments(kernel);
  const doer: Doer = { accountId: null, kind: 'system', by: byCommand };
  const done: HandedOver[] = [];
  for (const owned of await environmentsOwnedAlone(tx, accountId)) {
    const { id } = owned;
    const row = await lockEnvironment(tx, id);
    const heir = await heirOf(tx, id, accountId);
    const why = whyNot({ ...owned, ...row }, heir);
    if (!row || !heir || why !== undefined) throw new CommandError(why ?? `the environment ${id} is gone; try again`);
    if (row.provider !== 'byo' && row.state === 'running')
      await environments.move(tx, row, 'stop', { reason: 'owner_deleted' }, doer);
    await changeRole(tx, id, heir.account_id, 'owner');
    await passOn(tx, admin, accountId, id);
    // From here on the heir owns it alone, for whoever asks while the deletion goes on.
    await deleteMember(tx, id, accountId);
    const passed = (await lockEnvironment(tx, id)) ?? row;
    const payload = { user_id: heir.account_id, from: heir.role, to: 'owner' };
    await environments.tell(tx, passed, doer, { kind: 'member_changed', payload });
    const to = await addressOf(tx, heir);
    const losesMachine = await servesWith(tx, passed, accountId);
    await tellHandedOver(kernel, tx, passed, { heir: heir.account_id, from: accountId, to, losesMachine });
    done.push({ environment: row.slug, to });
  }
  return done;
}
