import { contract } from '@svc/contract';
import { isOwner } from '../../kernel/base/actor.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkFresh, invalidApiKey } from '../../kernel/mount/access.ts';
import { badRequest } from '../../kernel/base/errors.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { operation } from '../../kernel/feature.ts';
import { bindTo } from '../devices/index.ts';
import { issueKey } from './keys.issue.ts';
import { termsOf } from './keys.rules.ts';
import { connectionOf, isGranted } from './keys.standing.sql.ts';
import { isUsable, keysQuota, lockKey } from './keys.sql.ts';
import { checkTerms, isStrongKey } from './keys.terms.ts';
import { toRecord } from './keys.view.ts';

export const create = operation(contract.keys.create, async (context, { body }) => {
  const { actor, by } = context;
  const isPerson = actor.kind === 'login';
  checkTerms(actor, body, context.clock.now());
  const scopes = body.scopes ?? actor.scopes;
  // A person's key gets their level where it has a use for it, a key's key that of its maker.
  const hasUse = !isPerson || scopes.some((scope) => scope === '*' || scope === 'sandboxes');
  const toolLevel = body.tool_level ?? (hasUse ? actor.toolLevel : 'l0');
  if (isStrongKey({ scopes: [...scopes], tool_level: toolLevel })) checkFresh(actor, context.clock.now());
  const deviceId = body.device_id;
  if (deviceId !== undefined && !scopes.some((scope) => scope === '*' || scope.endsWith(':serve'))) {
    const message = 'needs a key with the scope hosts:serve or scheduler:serve';
    throw badRequest(`device_id: ${message}`, { device_id: [message] });
  }
  return context.transaction(async (tx) => {
    await checkQuota(context.kernel.config, tx, keysQuota, actor.accountId);
    // It may have been revoked with its children since it was let in: this one would outlive it unseen.
    if (!isPerson && !(await isUsable(tx, actor.keyId))) throw invalidApiKey();
    if (actor.grantId !== undefined && !(await isGranted(tx, actor.grantId))) throw invalidApiKey();
    const connectionId = isPerson ? null : await connectionOf(tx, actor.keyId);
    const { id, text } = await issueKey(context.kernel, tx, {
      accountId: actor.accountId,
      name: body.name,
      scopes,
      toolLevel,
      models: body.models ?? actor.models,
      spendCapMicroUsd: body.spend_cap_micro_usd ?? actor.spendCapMicroUsd,
      expiresAt: body.expires_at ?? (isPerson ? undefined : actor.expiresAt),
      parentId: isPerson ? undefined : actor.keyId,
      // What a key of an app makes is the app's too, and ends with it.
      ...(connectionId !== null && { connection: { id: connectionId, device: null, grantId: actor.grantId } }),
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
