import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkQuota } from '../../kernel/quotas.ts';
import { defaultGraceS } from './heartbeats.rules.ts';
import { heartbeatsQuota, insertMonitor } from './heartbeats.sql.ts';
import { hashToken, newToken } from './heartbeats.token.ts';
import { toRecord } from './heartbeats.view.ts';

export const create = operation(contract.heartbeats.create, async (context, { body }) => {
  const { clock, actor, kernel } = context;
  const { accountId } = actor;
  const token = newToken();
  const row = await context.transaction(async (db) => {
    await checkQuota(kernel.config, db, heartbeatsQuota, accountId);
    return insertMonitor(db, clock, {
      accountId,
      name: body.name,
      periodS: body.period_s,
      graceS: body.grace_s ?? defaultGraceS(body.period_s),
      tz: body.tz ?? null,
      tokenHash: hashToken(kernel.keyring, token) as Buffer,
    });
  });
  return { ...toRecord(row), ping_url: `${kernel.config.baseUrl}/ping/${token}` };
});
