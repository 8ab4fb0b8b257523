import type { Words } from '@svc/words';
import { inTransaction } from '../../kernel/db/db.ts';
import { claimFact, removeFact } from '../../kernel/db/facts.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { PartPresence } from '../../kernel/peers/parts.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { listOperators } from '../accounts/index.ts';
import { type NewNotice, notifyMany, resolveNotifications } from '../notifications/index.ts';
import type { Sandboxes } from '../sandboxes/index.ts';

const lookEveryMs = 2_000;

/** The names of its words; those of its text end in `Text`. */
type Part = 'worker' | 'relay' | 'node';
type Told = Pick<NewNotice, 'type' | 'severity'> & { says: `${Part}${'Missing' | 'Back'}` | 'nodeRefused' };

/** Something that the platform lacks, and who is told of it. */
interface Outage {
  /** Since when it lasts: a fact, written by the process that tells it, so that one does. */
  fact: string;
  /** As this process sees it; undefined: it does not know. */
  presence(): PartPresence | undefined;
  begun: Told;
  /** Unset: its end is told to nobody. */
  over?: Told;
  /** To the log of each process. */
  lines: { begun: string; over?: string };
}

type Nodes = Pick<Sandboxes['nodes'], 'presence' | 'counts'>;

const worker = {
  fact: 'worker_missing',
  begun: {
    type: 'system.worker_missing',
    says: 'workerMissing',
    severity: 'critical',
  },
  over: {
    type: 'system.worker_back',
    says: 'workerBack',
    severity: 'info',
  },
  lines: {
    begun: 'no worker for 40 s: what is due by the clock waits; start one: svc up --only worker',
    over: 'a worker runs again',
  },
} as const;

const relay = {
  fact: 'relay_missing',
  begun: {
    type: 'system.relay_missing',
    says: 'relayMissing',
    severity: 'critical',
  },
  over: {
    type: 'system.relay_back',
    says: 'relayBack',
    severity: 'info',
  },
  lines: { begun: 'no relay for 40 s; start one: svc up --only relay', over: 'a relay runs again' },
} as const;

const node = {
  fact: 'node_missing',
  begun: {
    type: 'system.node_missing',
    says: 'nodeMissing',
    severity: 'critical',
  },
  over: {
    type: 'system.node_back',
    says: 'nodeBack',
    severity: 'info',
  },
  lines: {
    begun: 'a sandbox node has not answered for 40 s; svc doctor names it',
    over: 'the sandbox nodes answer again',
  },
} as const;

const secondNode = {
  fact: 'node_refused',
  begun: {
    type: 'system.node_refused',
    says: 'nodeRefused',
    severity: 'warning',
  },
  lines: { begun: 'a second machine has a sandbox node, which is refused; svc doctor names both machines' },
} as const;

const outagesOf = ({ gateways }: Kernel, nodes: Nodes): Outage[] => [
  {
    ...worker,
    presence() {
      if (gateways.isIdle()) return 'missing';
      // One that has just started knows of no silence, and of no worker either.
      return gateways.workers() > 0 ? 'there' : undefined;
    },
  },
  { ...relay, presence: () => gateways.relayPresence() },
  { ...node, presence: () => nodes.presence() },
  {
    ...secondNode,
    presence() {
      const counts = nodes.counts();
      // One that is away for a moment, and refused again when it is back, is told once.
      return counts && (counts.refusedOfDay > 0 ? 'missing' : 'none');
    },
  },
];

/** Tells log and operators, once each, when the platform lacks a part, and when it has it again. */
export function startOutageWatch(kernel: Kernel, nodes: Nodes): Loop {
  const watches = outagesOf(kernel, nodes).map((outage) => watchOf(kernel, outage));
  return startLoop(kernel, {
    name: 'system.outage',
    everyMs: lookEveryMs,
    async work() {
      for (const look of watches) await look();
    },
  });
}

function watchOf(kernel: Kernel, outage: Outage): () => Promise<void> {
  const { log } = kernel;
  let last: PartPresence | undefined;
  return async () => {
    const now = outage.presence();
    if (now === undefined || now === last) return;
    const isTold = await tellOperators(kernel, outage, now);
    const isNew = last === 'missing' || isTold;
    last = now;
    if (now === 'missing') log.error(outage.lines.begun);
    else if (isNew && outage.lines.over !== undefined && now === 'there') log.info(outage.lines.over);
  };
}

/** Whether this process is the one that told them. What belongs to the platform no more comes back to nobody. */
async function tellOperators(kernel: Kernel, { fact, begun, over }: Outage, presence: PartPresence): Promise<boolean> {
  const { sql, clock } = kernel;
  return inTransaction(sql, async (db) => {
    const now = new Date(clock.now()).toISOString();
    const isMissing = presence === 'missing';
    const isFirst = isMissing ? await claimFact(db, fact, Buffer.from(now)) : await removeFact(db, fact);
    if (!isFirst) return false;
    const accounts = await listOperators(db);
    const told = isMissing ? begun : presence === 'none' ? undefined : over;
    const said = told && {
      ...told,
      says: ({ system }: Words['alerts']) => ({ title: system[told.says], body: system[`${told.says}Text`] }),
      dedupeKey: `${told.type}:${now}`,
      ...(isMissing && { cause: fact }),
    };
    if (said)
      await notifyMany(
        kernel,
        db,
        accounts.map((accountId) => ({ accountId, ...said })),
      );
    if (isMissing) return true;
    const ends = accounts.map((accountId) => ({
      accountId,
      cause: fact,
      resolution: 'recovered' as const,
      ...(said && { instead: said.dedupeKey }),
    }));
    await resolveNotifications(kernel, db, ends);
    return said !== undefined;
  });
}
