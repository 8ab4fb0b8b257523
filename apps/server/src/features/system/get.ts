import { statfs } from 'node:fs/promises';
import { contract } from '@svc/contract';
import { version } from '../../kernel/base/version.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { listParts, type PartLease } from '../../kernel/peers/parts.ts';
import { checkOperator } from '../accounts/index.ts';
import { providersNow } from '../health/index.ts';
import type { Sandboxes } from '../sandboxes/index.ts';

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
    const [checks, parts, providers, disk] = await Promise.all([
      checkPlatform(kernel),
      listParts(kernel.sql),
      providersNow(kernel),
      statfs(kernel.dataDir),
    ]);
    return {
      version,
      started_at: new Date(startedAt).toISOString(),
      urls: { base: baseUrl, hub: hubUrl, auth: authUrl, relay: relayUrl, resolve: resolveUrl },
      https: baseUrl.startsWith('https:'),
      checks: checks.map(({ found, ...check }) => ({ ...check, detail: found })),
      gateways: processesOf(parts, gateways.id),
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

/** The one that answers lives, whatever its lease says on a machine that is busy. */
function processesOf(parts: readonly PartLease[], own: string) {
  const live = parts.filter(({ id, live: isLive }) => isLive || id === own);
  const all = live.some(({ id }) => id === own) ? live : [...live, { id: own, part: null }];
  return all
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, part }) => ({ id, answers_this: id === own, ...(part !== null && { part }) }));
}
