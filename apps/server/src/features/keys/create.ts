import { contract } from '@svc/contract';
import { isOwner } from '../../kernel/base/actor.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { invalidApiKey } from '../../kernel/mount/access.ts';
import { badRequest } from '../../kernel/base/errors.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { operation } from '../../kernel/feature.ts';
import { bindTo } from '../devices/index.ts';
import { issueKey } from './keys.issue.ts';
import { termsOf } from './keys.rules.ts';
import { isUsable, keysQuota, lockKey } from './keys.sql.ts';
import { checkTerms } from './keys.terms.ts';
import { toRecord } from './keys.view.ts';

export const create = operation(contract.keys.create, async (context, { body }) => {
  const { actor, by } = context;
  checkTerms(actor, body, context.clock.now());
  const scopes = body.scopes ?? actor.scopes;
  const deviceId = body.device_id;
  if (deviceId !== undefined && !scopes.some((scope) => scope === '*' || scope.endsWith(':serve'))) {
    const message = 'needs a key with the scope hosts:serve or scheduler:serve';
    throw badRequest(`device_id: ${message}`, { device_id: [message] });
  }
  return context.transaction(async (tx) => {
    await checkQuota(context.kernel.config, tx, keysQuota, actor.accountId);
    // It may have been revoked with its children since it was let in: this one would outlive it unseen.
    if (!(await isUsable(tx, actor.keyId))) throw invalidApiKey();
    const { id, text } = await issueKey(context.kernel, tx, {
      accountId: actor.accountId,
      name: body.name,
      scopes,
      toolLevel: body.tool_level ?? actor.toolLevel,
      models: body.models ?? actor.models,
      spendCapMicroUsd: body.spend_cap_micro_usd ?? actor.spendCapMicroUsd,
      expiresAt: body.expires_at ?? actor.expiresAt,
      parentId: actor.keyId,
    });
    if (deviceId !== undefined) {
      const takesOver = isOwner(actor);
      await bindTo(tx, { accountId: actor.accountId, deviceId, keyId: id, scopes, takesOver });
    }
    const row = await lockKey(tx, actor.accountId, id);
    if (!row) throw new Error('a key just inserted is gone');
    await writeAct(tx, { accountId: actor.accountId, by, action: 'keys.create', subject: id, details: termsOf(row) });
    return { ...toRecord(row), key: text };
  });
});
