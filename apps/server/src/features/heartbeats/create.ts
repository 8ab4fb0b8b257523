import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { insertMonitor } from './heartbeats.sql.ts';
import { hashToken, newToken } from './heartbeats.token.ts';
import { toRecord } from './heartbeats.view.ts';

const defaultGraceS = 3_600;

export const create = operation(contract.heartbeats.create, async ({ db, clock, actor, kernel }, { body }) => {
  const token = newToken();
  const row = await insertMonitor(db, clock, {
    accountId: actor.accountId,
    name: body.name,
    periodS: body.period_s,
    graceS: body.grace_s ?? Math.min(defaultGraceS, body.period_s),
    tz: body.tz ?? null,
    tokenHash: hashToken(kernel.keyring, token) as Buffer,
  });
  return { ...toRecord(row), ping_url: `${kernel.config.baseUrl}/ping/${token}` };
});
