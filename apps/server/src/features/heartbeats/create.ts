import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { monitorChange } from './heartbeats.changes.ts';
import { claimSlug } from './heartbeats.slugs.ts';
import { heartbeatsQuota, insertMonitor } from './heartbeats.sql.ts';
import { checkCron, defaultGraceS, nextOf } from './heartbeats.times.ts';
import { hashToken, newToken } from './heartbeats.token.ts';
import { toRecord } from './heartbeats.view.ts';

export const create = operation(contract.heartbeats.create, async (context, { body }) => {
  const { clock, actor, kernel } = context;
  const { accountId } = actor;
  const { cron = null, tz = null, slug = null, tags = [] } = body;
  if (cron !== null) checkCron(cron, tz);
  const periodS = cron === null ? (body.period_s as number) : nextOf(cron, tz, clock.now()).periodS;
  const token = newToken();
  const row = await context.transaction(async (db) => {
    await checkQuota(kernel.config, db, heartbeatsQuota, accountId);
    if (slug !== null) await claimSlug(db, accountId, slug);
    const monitor = await insertMonitor(db, clock, {
      accountId,
      name: body.name,
      slug,
      tags: [...new Set(tags)],
      periodS,
      graceS: body.grace_s ?? defaultGraceS(periodS),
      cron,
      tz,
      tokenHash: hashToken(kernel.keyring, token) as Buffer,
    });
    // An app was shown where the monitor's pings go.
    await noteChange(db, actor, { kind: 'ping_url', subject: monitor.id, name: monitor.name });
    await kernel.feed.record(db, [monitorChange('created', monitor)]);
    return monitor;
  });
  return { ...toRecord(row), ping_url: `${kernel.config.baseUrl}/ping/${token}` };
});
