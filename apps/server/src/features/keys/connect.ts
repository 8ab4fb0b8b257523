import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { invalidApiKey } from '../../kernel/mount/access.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { issueKey } from './keys.issue.ts';
import { termsOf } from './keys.rules.ts';
import { isUsable, keysQuota, lockKey } from './keys.sql.ts';
import { endFormerKeys, isGranted, keysOfConnections, noteReplaced } from './keys.standing.sql.ts';
import { toRecord } from './keys.view.ts';

/** The connection behind the key that stands for it. */
export interface ConnectionOfKey {
  id: string;
  name: string;
  /** Days that its keys live; undefined: until they are revoked. */
  keyDays: number | undefined;
}

const dayMs = 86_400_000;
/** Keys that one app may have, those that its keys made among them: it must not use up the account's. */
const mostOfApp = 100;

export const connect = (find: (keyId: string) => Promise<ConnectionOfKey | undefined>) =>
  operation(contract.keys.connect, async (context, { body }) => {
    const { actor, by, clock, kernel } = context;
    const { accountId } = actor;
    const connection = await find(actor.keyId);
    if (!connection) throw gone();
    const days = connection.keyDays;
    return context.transaction(async (tx) => {
      await checkQuota(kernel.config, tx, keysQuota, accountId);
      // It may have been disconnected since it was let in: what is made now nobody would find to revoke.
      if (!(await isUsable(tx, actor.keyId))) throw gone();
      if (actor.grantId !== undefined && !(await isGranted(tx, actor.grantId))) throw gone();
      if ((await keysOfConnections(tx, [connection.id])).length >= mostOfApp) throw tooMany();
      const { id, text } = await issueKey(kernel, tx, {
        accountId,
        name: body.name ?? connection.name,
        scopes: actor.scopes,
        // Tool levels are for sandboxes alone.
        toolLevel: actor.scopes.includes('sandboxes') ? actor.toolLevel : 'l0',
        expiresAt: days === undefined ? null : new Date(clock.now() + days * dayMs).toISOString(),
        connection: { id: connection.id, device: body.device ?? null, grantId: actor.grantId },
      });
      if (body.device !== undefined) {
        const former = await endFormerKeys(tx, connection.id, body.device, id);
        await noteReplaced(tx, id, former[0] ?? null);
      }
      const row = await lockKey(tx, accountId, id);
      if (!row) throw new Error('a key just inserted is gone');
      const details = { ...termsOf(row), connection_id: connection.id };
      await writeAct(tx, { accountId, by, action: 'keys.connect', subject: id, details });
      return { ...toRecord(row), key: text };
    });
  });

const tooMany = () =>
  new ApiError(
    'quota_exceeded',
    `an app may have ${mostOfApp} keys; name the device, so that its new key replaces the former one`,
    {
      headers: { 'x-should-retry': 'false', 'retry-after': '3600' },
    },
  );

const gone = () => invalidApiKey('this app was disconnected; connect it again');
