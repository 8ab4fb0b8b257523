import { statfs } from 'node:fs/promises';
import { contract } from '@svc/contract';
import { version } from '../../kernel/base/version.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkOperator } from '../accounts/index.ts';
import { providersNow } from '../health/index.ts';
import type { Sandboxes } from '../sandboxes/index.ts';
import { listGateways } from './system.sql.ts';

/** What is shown of the process beyond what features know. */
export interface SystemParts {
  sandboxes: Pick<Sandboxes, 'nodes'>;
  /** The checks of `svc doctor` that a running platform makes of itself. */
  checkPlatform: (kernel: Kernel) => Promise<{ name: string; ok: boolean; found: string; fix?: string }[]>;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

export const get = ({ sandboxes, checkPlatform, startedAt }: SystemParts): Operation =>
  operation(contract.system.get, async (context) => {
    await checkOperator(context);
    const { kernel } = context;
    const { config, gateways } = kernel;
    const { baseUrl, hubUrl, authUrl, relayUrl, resolveUrl } = config;
    const [checks, live, providers, disk] = await Promise.all([
      checkPlatform(kernel),
      listGateways(kernel.sql),
      providersNow(kernel),
      statfs(kernel.dataDir),
    ]);
    return {
      version,
      started_at: new Date(startedAt).toISOString(),
      urls: { base: baseUrl, hub: hubUrl, auth: authUrl, relay: relayUrl, resolve: resolveUrl },
      https: baseUrl.startsWith('https:'),
      checks: checks.map(({ found, ...check }) => ({ ...check, detail: found })),
      // The one that answers lives, whatever its lease says on a machine that is busy.
      gateways: [...new Set([...live, gateways.id])].toSorted().map((id) => ({ id, answers_this: id === gateways.id })),
      sandbox_nodes: sandboxes.nodes.all().map(({ id, status: { slots, images, backends } }) => ({
        id,
        slots: slots.total,
        used: slots.used,
        backends: Object.entries(backends).flatMap(([name, { available }]) => (available ? [name] : [])),
        images: images.map(({ template, state, progress }) => ({
          template,
          state,
          ...(state === 'building' && { percent: Math.floor(progress * 100) }),
        })),
      })),
      providers: providers ?? [],
      mail: { configured: config.mail !== undefined, ...(config.mail && { from: config.mail.from }) },
      disk: { free_bytes: disk.bavail * disk.bsize, total_bytes: disk.blocks * disk.bsize },
    };
  });
