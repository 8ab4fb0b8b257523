import { inTransaction } from '../../kernel/db/db.ts';
import { claimFact, removeFact } from '../../kernel/db/facts.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { listOperators } from '../accounts/index.ts';
import { type NewNotification, notifyMany } from '../notifications/index.ts';

const lookEveryMs = 2_000;
/** Since when there is no worker: written by the process that tells it, so that one does. */
const outageFact = 'worker_missing';

type Told = Pick<NewNotification, 'type' | 'title' | 'body' | 'severity'>;

const begun: Told = {
  type: 'system.worker_missing',
  title: 'No worker for 40 s',
  body: 'Schedules, monitors and jobs wait. Start one: ./svc up --only worker; ./svc doctor shows which parts run.',
  severity: 'critical',
};
const over: Told = {
  type: 'system.worker_back',
  title: 'A worker runs again',
  body: 'What was due meanwhile is caught up as each schedule says.',
  severity: 'info',
};

/** Tells log and operators, once each, when nobody does what is due by the clock, and when somebody does again. */
export function startOutageWatch(kernel: Kernel): Loop {
  const { gateways, log } = kernel;
  let wasIdle: boolean | undefined;
  return startLoop(kernel, {
    name: 'system.outage',
    everyMs: lookEveryMs,
    async work() {
      const isIdle = gateways.isIdle();
      if (isIdle === undefined || isIdle === wasIdle) return;
      const isTold = await tellOperators(kernel, isIdle);
      const isNew = wasIdle !== undefined || isTold;
      wasIdle = isIdle;
      if (isIdle) log.error('no worker for 40 s: what is due by the clock waits; start one: svc up --only worker');
      else if (isNew) log.info('a worker runs again');
    },
  });
}

/** Whether this process is the one that told them. */
async function tellOperators(kernel: Kernel, isIdle: boolean): Promise<boolean> {
  const { sql, clock } = kernel;
  return inTransaction(sql, async (db) => {
    const now = new Date(clock.now()).toISOString();
    const isFirst = isIdle ? await claimFact(db, outageFact, Buffer.from(now)) : await removeFact(db, outageFact);
    if (!isFirst) return false;
    const told = (await listOperators(db)).map((accountId) => ({
      accountId,
      dedupeKey: `system.worker:${isIdle ? 'missing' : 'back'}:${now}`,
      ...(isIdle ? begun : over),
    }));
    await notifyMany(kernel, db, told);
    return true;
  });
}
