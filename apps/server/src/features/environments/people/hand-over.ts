import { createMetrics } from '../../../kernel/base/metrics.ts';
import type { Admin } from '../../../kernel/commands.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { byCommand } from '../../../kernel/records/audit.ts';
import { FeedWriter } from '../../../kernel/streams/feed.writer.ts';
import { findEmail } from '../../accounts/index.ts';
import { passOn } from '../environments.machines.ts';
import { tellHandedOver } from '../environments.notify.ts';
import { lockEnvironment } from '../environments.sql.ts';
import { Environments } from '../environments.store.ts';
import { changeRole, environmentsOwnedAlone, heirOf } from './members.sql.ts';

/** What became of an environment whose only owner leaves. */
interface HandedOver {
  environment: string;
  /** E-mail address of who owns it now. */
  to: string;
}

/**
 * Gives environments that an account alone owns, and that have other members, to one of these: who has the highest role, and of
 * those who is there longest. A machine at a provider is stopped: nobody pays for one that they did not start. All members hear
 * of it. An environment in which everybody is suspended goes with the account.
 */
export async function handOver(admin: Admin, tx: Db, accountId: string): Promise<HandedOver[]> {
  const feed = new FeedWriter(admin);
  const metrics = createMetrics();
  const environments = new Environments({ ...admin, feed, metrics });
  const doer = { accountId: null, kind: 'system', by: byCommand } as const;
  const done: HandedOver[] = [];
  for (const { id } of await environmentsOwnedAlone(tx, accountId)) {
    const row = await lockEnvironment(tx, id);
    const heir = row && (await heirOf(tx, id, accountId));
    if (!row || !heir) continue;
    if (row.provider !== 'byo' && row.state === 'running')
      await environments.move(tx, row, 'stop', { reason: 'owner_deleted' }, doer);
    await changeRole(tx, id, heir.account_id, 'owner');
    await passOn(tx, admin, accountId, id);
    const passed = (await lockEnvironment(tx, id)) ?? row;
    const payload = { user_id: heir.account_id, from: heir.role, to: 'owner' };
    await environments.tell(tx, passed, doer, { kind: 'member_changed', payload });
    const to = (await findEmail(tx, heir.account_id)) ?? heir.account_id;
    await tellHandedOver({ ...admin, feed }, tx, passed, { heir: heir.account_id, from: accountId, to });
    done.push({ environment: row.slug, to });
  }
  return done;
}
