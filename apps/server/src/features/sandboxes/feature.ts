import { gaugeOfRows } from '../../kernel/db/counted.ts';
import { contract } from '@svc/contract';
import { readNow } from '../../kernel/db/instant.ts';
import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import type { Forwarder } from '../../kernel/forwarder/forwarder.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { artifacts } from './artifacts.ts';
import { create } from './create.ts';
import { events } from './events.ts';
import { exec } from './exec.ts';
import { fork } from './fork.ts';
import { get } from './get.ts';
import { checkEnabled, type Sandboxes, sandboxesManifest } from './index.ts';
import { list } from './list.ts';
import { listFiles } from './listFiles.ts';
import { pause } from './pause.ts';
import { preview } from './preview.ts';
import { readFile } from './readFile.ts';
import { remove } from './remove.ts';
import { resetKernel } from './resetKernel.ts';
import { resume } from './resume.ts';
import { run } from './run.ts';
import { runCode } from './runCode.ts';
import { Keeper } from './sandboxes.keeper.ts';
import { deleteExpiredPreviews } from './previews/previews.sql.ts';
import { PreviewListener } from './previews/listener.ts';
import { countByState } from './sandboxes.list.sql.ts';
import { deleteOldSandboxes, forgetOldAudit } from './sandboxes.sql.ts';
import { snapshot } from './snapshot.ts';
import { stream } from './stream.ts';
import { terminal } from './terminal.ts';
import { update } from './update.ts';
import { writeFile } from './writeFile.ts';
import { sandboxesOverview } from './sandboxes.summary.ts';

const sweptAtOnce = 10_000;
/** How long a shutdown waits for commands; then they are ended, and their callers told. */
const drainMs = 5_000;

/** On every answer of a sandbox route (document 3, Limits). */
const sandboxHeaders = (kernel: Kernel): Readonly<Record<string, string>> => ({
  'x-svc-cost-micro-usd': '0',
  'x-svc-data-region': kernel.config.dataRegion,
});

/** Rows of what is over go. */
const sweeps: readonly JobDefinition[] = [
  {
    name: 'sandboxes.sweep',
    cron: '41 3 * * *',
    retries: 0,
    async run({ sql, clock, config }) {
      await deleteOldSandboxes(sql, clock);
      const before = new Date((await readNow(sql, clock)).ms - config.auditDays * 86_400_000).toISOString();
      while ((await forgetOldAudit(sql, { before }, sweptAtOnce)) === sweptAtOnce);
    },
  },
  {
    name: 'sandboxes.sweepPreviews',
    cron: '*/15 * * * *',
    retries: 0,
    run: ({ sql, clock }) => deleteExpiredPreviews(sql, clock),
  },
];

/** Isolated workspaces. */
export function sandboxesFeature(kernel: Kernel, { nodes }: Sandboxes, forwarder: Forwarder): Feature {
  const keeper = new Keeper(kernel, nodes);
  const listener = new PreviewListener(kernel, nodes, forwarder);
  return {
    ...sandboxesManifest,
    headers: sandboxHeaders(kernel),
    gate: checkEnabled,
    overview: sandboxesOverview,
    topic: contract.sandboxes.list,
    operations: {
      list: list(nodes),
      stream,
      get: get(nodes),
      events,
      create: create(nodes),
      update: update(nodes),
      remove: remove(nodes),
      terminal: terminal(nodes),
      exec: exec(nodes),
      run: run(nodes),
      runCode: runCode(nodes),
      resetKernel: resetKernel(nodes),
      pause: pause(nodes),
      resume: resume(nodes),
      fork: fork(nodes),
      writeFile: writeFile(nodes),
      readFile: readFile(nodes),
      listFiles: listFiles(nodes),
      artifacts: artifacts(nodes),
      snapshot: snapshot(nodes),
      preview: preview(nodes, listener),
    },
    jobs: sweeps,
    async start(_kernel, { serves, works }) {
      if (works) {
        const help = 'Sandboxes that are not over, by state';
        gaugeOfRows(kernel, { name: 'svc_sandboxes', help, label: 'state' }, countByState);
      }
      kernel.metrics.gauges(
        'svc_sandbox_slots',
        'Places for sandboxes of the nodes that this process uses',
        'state',
        () => {
          const slots = nodes.all().map(({ status }) => status.slots);
          const used = slots.reduce((sum, each) => sum + each.used, 0);
          return { used, free: slots.reduce((sum, each) => sum + each.total, 0) - used };
        },
      );
      await Promise.all([keeper.start(works), serves && listener.listen()]);
      return {
        // In a process that only works there are none.
        drain: () => nodes.commands.drain(drainMs),
        async stop() {
          await listener.close();
          await keeper.stop();
        },
      };
    },
  };
}
