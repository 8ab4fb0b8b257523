import { randomUUID } from 'node:crypto';
import { contract, type RouteResult } from '@svc/contract';
import { findOriginal } from '../../home.ts';
import type { Db } from '../../kernel/db/db.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { findEmail } from '../accounts/index.ts';
import { notify } from './notifications.notify.ts';
import type { OutcomeWaits } from './notifications.outcomes.ts';
import { type FirstOutcome, targetsOf } from './notifications.outcomes.sql.ts';
import { findByKey, type NotificationRow, testType } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';
import { takeTest } from './webhooks/deliver.ts';
import { listWebhooks } from './webhooks/webhooks.sql.ts';

type Target = RouteResult<typeof contract.notifications.sendTest>['targets'][number];
type Delivery = Awaited<ReturnType<typeof targetsOf>>[number];

/** A way to the person: with its delivery, or why there is none. */
type Way = { channel: string; to?: string; device_name?: string } & ({ delivery: string } | { reason: string });

/** As many are told of; more get theirs. */
const mostWebhooks = 100;

const copyWaits = 'this platform is a copy of another one and sends nothing until its operator confirms it';

/** Sends a test and waits until those who take it have answered: what nobody has heard of is not called sent. */
export const sendTest = (waits: OutcomeWaits): Operation =>
  operation(contract.notifications.sendTest, async (context) => {
    const { kernel, actor } = context;
    const { accountId } = actor;
    await takeTest(kernel, accountId);
    const { row, ways } = await context.transaction(async (tx) => {
      const dedupeKey = `notification.test:${randomUUID()}`;
      await notify(kernel, tx, {
        accountId,
        dedupeKey,
        type: testType,
        says: ({ test: { title, text: body } }) => ({ title, body }),
        severity: 'info',
      });
      const stored = (await findByKey(tx, accountId, dedupeKey)) as NotificationRow;
      return { row: stored, ways: await waysTo(kernel, tx, accountId, await targetsOf(tx, accountId, dedupeKey)) };
    });
    const sent = ways.filter((way) => 'delivery' in way);
    // A copy sends nothing: there is no outcome to wait for.
    const isCopy = (await findOriginal(context.db)) !== undefined;
    const outcomes = isCopy ? new Map() : await waits.wait(row.id, sent.length, context.signal);
    const inbox: Target = { channel: 'inbox', to: accountId, sent: true, outcome: 'delivered' };
    const targets = [inbox, ...ways.map((way) => targetOf(way, outcomes, isCopy))];
    return { notification: toRecord(kernel.config, row), targets };
  });

function targetOf(way: Way, outcomes: ReadonlyMap<string, FirstOutcome>, isCopy: boolean): Target {
  if (!('delivery' in way)) return { ...way, sent: false };
  const { delivery, ...target } = way;
  return { ...target, ...told(outcomes.get(delivery), isCopy) };
}

/** All ways to a person besides the inbox, whether the test goes there or not. */
async function waysTo(kernel: Kernel, tx: Db, accountId: string, deliveries: readonly Delivery[]): Promise<Way[]> {
  const browsers = deliveries.flatMap(({ id, endpoint, device_name: name }): Way[] => {
    if (endpoint === null) return [];
    // The rest of the address is a secret of that browser.
    return [{ channel: 'push', to: new URL(endpoint).host, ...(name && { device_name: name }), delivery: id }];
  });
  const none: Way[] = [{ channel: 'push', reason: 'no browser of the account is subscribed' }];
  return [
    ...(browsers.length > 0 ? browsers : none),
    await mailWay(kernel, tx, accountId, deliveries),
    ...(await webhookWays(tx, accountId, deliveries)),
  ];
}

async function mailWay(kernel: Kernel, tx: Db, accountId: string, deliveries: readonly Delivery[]): Promise<Way> {
  const channel = 'mail';
  if (kernel.config.mail === undefined)
    return { channel, reason: 'this installation has no mail server; its operator sets SVC_SMTP_URL' };
  const to = (await findEmail(tx, accountId)) ?? '';
  const delivery = deliveries.find((one) => one.channel === channel);
  return delivery ? { channel, to, delivery: delivery.id } : { channel, to, reason: 'no mail goes to this account' };
}

async function webhookWays(tx: Db, accountId: string, deliveries: readonly Delivery[]): Promise<Way[]> {
  const channel = 'webhook';
  const webhooks = await listWebhooks(tx, accountId, { limit: mostWebhooks });
  if (webhooks.length === 0) return [{ channel, reason: 'the account has no webhook' }];
  return webhooks.map(({ id, name, enabled }) => {
    const delivery = deliveries.find(({ webhook_id: webhook }) => webhook === id);
    if (delivery) return { channel, to: name, delivery: delivery.id };
    return { channel, to: name, reason: enabled ? 'it is being changed; try again' : 'it is switched off' };
  });
}

/** What is said of a delivery. */
function told(
  outcome: FirstOutcome | undefined,
  isCopy: boolean,
): Pick<Target, 'sent' | 'outcome' | 'status' | 'reason'> {
  if (isCopy) return { sent: false, reason: copyWaits };
  if (!outcome) return { sent: false, outcome: 'pending', reason: 'it has not answered yet; this is still under way' };
  const { ok, status, reason } = outcome;
  return {
    sent: ok,
    outcome: ok ? 'delivered' : 'failed',
    ...(status !== undefined && { status }),
    ...(reason !== undefined && { reason }),
  };
}
