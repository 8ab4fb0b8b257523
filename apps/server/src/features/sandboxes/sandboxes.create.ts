import { randomUUID } from 'node:crypto';
import { templateNames, templates } from '@svc/contract';
import type { Backend, Egress, ImageStatus, Template } from '@svc/sandboxd-api';
import type { Who } from '../../kernel/records/audit.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkPaid } from '../metering/index.ts';
import { checkCaps } from './caps/caps.ts';
import { createRow, moveSandbox } from './sandboxes.moves.ts';
import { elsewhere } from './nodes/elsewhere.ts';
import { noCapacity, toApiFailure } from './nodes/failures.ts';
import type { Node, Nodes } from './nodes/nodes.ts';
import { lockAccount, placeSandbox, type SandboxRow } from './sandboxes.sql.ts';

/** Seconds that a sandbox may live (document 3, Limits). */
export const ttl = { least: 60, v1: 86_400, v2: 604_800 };

/** A sandbox that is asked for. */
export interface WantedSandbox {
  /** If unset: v2, or v1 when v2 is unavailable. */
  backend: Backend | undefined;
  template: Template;
  egress: Egress;
  metadata: Record<string, string>;
  ttlSeconds: number;
}

/** On whose behalf it is made; who goes away before it runs, by `signal`, is made none. */
type Maker = Pick<Context, 'kernel' | 'actor' | 'by'> & { signal?: AbortSignal };

/** When nobody says how long. */
export const defaultTtlSeconds = 3_600;

/** Throws `invalid_ttl` for a lifetime out of range (document 3, Limits). */
export function checkTtl(seconds: number, most: number = ttl.v2, least: number = ttl.least): void {
  if (seconds >= least && seconds <= most) return;
  const message = `ttl_seconds must be ${least} to ${most}`;
  throw new ApiError('invalid_ttl', message, { details: { fieldErrors: { ttl_seconds: [message] } } });
}

/** Makes a sandbox: v1 when asked for, else v2, or v1 when v2 is unavailable and nothing asked needs it. */
export async function createSandbox(caller: Maker, nodes: Nodes, wanted: WantedSandbox): Promise<SandboxRow> {
  const { kernel, actor } = caller;
  const { backend, template, ttlSeconds } = wanted;
  checkTtl(ttlSeconds, backend === 'v1' ? ttl.v1 : ttl.v2);
  if (backend === 'v1' && !templates[template].v1) {
    const message = `v1 has the template ${templateNames.filter((name) => templates[name].v1).join(', ')} only`;
    throw badRequest(message, { template: [message] });
  }
  const mayHaveV2 = actor.features['sandboxes_v2'] !== false;
  if (backend === 'v2' && !mayHaveV2) throw new ApiError('forbidden', 'v2 sandboxes are not enabled for this account');
  await checkPaid(kernel, actor.accountId);
  await nodes.some();
  if (nodes.areElsewhere) throw elsewhere();
  const fallback = backend === undefined && templates[template].v1 && ttlSeconds <= ttl.v1;
  if (backend !== 'v1' && mayHaveV2) {
    const node = nodes.place('v2', template);
    try {
      if (!node) throw noCapacity(fallback && !nodes.place('v1', template) ? whyNeither(nodes) : nodes.whyNot('v2'));
      return await createOn(caller, { nodes, node }, { ...wanted, backend: 'v2' });
    } catch (error) {
      // An image that is not built yet would make v1 wait once more: v1 must have it. If v2 cannot run at all and v1 can, v1 is
      // tried anyway: its error then names the thing to fix.
      const v1 = nodes.place('v1', template);
      const isNext = v1 !== undefined && (node === undefined || v1.status.images.some(isReady(template)));
      if (!(fallback && isNext && error instanceof ApiError && error.code === 'sandbox_capacity')) throw error;
    }
  } else if (backend === undefined && !fallback) {
    throw new ApiError('forbidden', 'v2 sandboxes are not enabled for this account, and v1 cannot do this');
  }
  const node = nodes.place('v1', template);
  if (!node) throw noCapacity(nodes.whyNot('v1'));
  return createOn(caller, { nodes, node }, { ...wanted, backend: 'v1' });
}

/** What keeps both backends away: an ordinary user can have v1 alone, and must hear what that needs. */
function whyNeither(nodes: Nodes): string {
  const [v1, v2] = [nodes.whyNot('v1'), nodes.whyNot('v2')];
  return v1 === v2 ? v1 : `v1: ${v1}; v2: ${v2}`;
}

/** Whether an image is that of a template, and can be used. */
export const isReady = (template: Template) => (image: ImageStatus) =>
  image.template === template && image.state === 'ready';

async function createOn(
  { kernel, actor, by, signal }: Maker,
  { nodes, node }: { nodes: Nodes; node: Node },
  wanted: WantedSandbox & { backend: Backend },
): Promise<SandboxRow> {
  const { sql, clock } = kernel;
  const id = randomUUID();
  const { backend, template, egress } = wanted;
  const row = await inTransaction(sql, async (tx) => {
    await lockAccount(tx, actor.accountId);
    const memory_mb = kernel.config.sandboxes.memoryMb;
    await checkCaps(kernel.config, tx, actor, { backend, memoryMb: memory_mb });
    const { accountId: account_id, keyId: key_id } = actor;
    const created = await createRow(tx, clock, {
      id,
      account_id,
      key_id,
      backend,
      template,
      egress,
      metadata: wanted.metadata,
      ttlMs: wanted.ttlSeconds * 1000,
      memory_mb,
    });
    await placeSandbox(tx, id, { nodeId: node.id, backend });
    return created;
  });
  try {
    const made = await node.client.create(id, {
      owner: node.owner,
      backend,
      template,
      egress,
      expires_at: Date.parse(row.expires_at),
    });
    // Its image may have taken minutes: nobody would know of it, and it would take a place and cost until its end.
    if (signal?.aborted) throw noCapacity('whoever asked for the sandbox went away before it ran; it was given up');
    return await begin(kernel, by, id, 'made', { restored: made.restored, imageDigest: made.image_digest });
  } catch (error) {
    await nodes.unknown.giveUp(id);
    await moveSandbox(kernel, id, 'discard', { by });
    node.client.destroy(id).catch(() => {});
    throw await withImage(node, template, toApiFailure(error));
  }
}

/** The failure of a create; while its image is built with `details.image`, so that a page can say how far that is. */
async function withImage(node: Node, template: Template, failure: unknown): Promise<unknown> {
  if (!(failure instanceof ApiError) || failure.code !== 'sandbox_capacity') return failure;
  const status = await node.client.node().catch(() => undefined);
  const image = status?.images.find((one) => one.template === template);
  if (image?.state !== 'building') return failure;
  const { message, headers } = failure;
  const details = { image: { template, percent: Math.floor(image.progress * 100) } };
  return new ApiError('sandbox_capacity', message, { ...(headers && { headers }), details });
}

/** A sandbox that its node made is running from now on. */
export async function begin(
  kernel: Kernel,
  by: Who,
  id: string,
  move: 'made' | 'forked',
  { detail, ...made }: { restored: boolean; imageDigest: string; detail?: object },
): Promise<SandboxRow> {
  const row = await moveSandbox(kernel, id, move, {
    ...made,
    by,
    detail: ({ backend, template, egress }) => ({ backend, template, egress, ...detail }),
  });
  // Too late: somebody thought that this gateway was gone.
  if (!row) throw noCapacity('the sandbox was given up while it was made; try again');
  return row;
}
