import { randomUUID } from 'node:crypto';
import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { checkPaid } from '../metering/index.ts';
import { checkCaps } from './caps/caps.ts';
import { begin, checkTtl } from './sandboxes.create.ts';
import { createRow } from './sandboxes.moves.ts';
import { busy, notRunning, toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { findSandbox, isBusy, lockAccount, placeSandbox } from './sandboxes.sql.ts';

const mostChildren = 5;

/** Children are sandboxes of their own from the moment they run; a failed child is forgotten. */
export const fork = (nodes: Nodes) =>
  operation(contract.sandboxes.fork, async (context, { params: { id }, body }) => {
    const { kernel, actor, by, clock } = context;
    const { count, ttl_seconds: ttlSeconds } = body;
    if (count < 1 || count > mostChildren) {
      const message = `count must be 1 to ${mostChildren}`;
      throw new ApiError('invalid_count', message, { details: { fieldErrors: { count: [message] } } });
    }
    if (ttlSeconds !== undefined) checkTtl(ttlSeconds);
    const found = await findSandbox(context.db, actor.accountId, id);
    if (!found) throw notFound('sandbox');
    if (found.backend === 'v1') throw new ApiError('not_supported_on_v1', 'v1 keeps no memory; fork needs v2');
    await checkPaid(kernel, actor.accountId);
    const { parent, children } = await context.transaction(async (tx) => {
      await lockAccount(tx, actor.accountId);
      const row = await findSandbox(tx, actor.accountId, id);
      if (row?.state !== 'running') throw notRunning();
      if (await isBusy(tx, clock, id)) throw busy();
      await checkCaps(kernel.config, tx, actor, { backend: 'v2', forks: count, memoryMb: row.memory_mb });
      const ttlMs = ttlSeconds === undefined ? Date.parse(row.expires_at) - clock.now() : ttlSeconds * 1000;
      const made = [];
      for (let i = 0; i < count; i++) {
        const { backend, template, egress, metadata, memory_mb } = row;
        const child = { id: randomUUID(), account_id: actor.accountId, key_id: actor.keyId };
        const inherited = {
          backend,
          template,
          egress,
          metadata,
          memory_mb,
          ttlMs: Math.max(1000, ttlMs),
          parentId: id,
        };
        made.push(await createRow(tx, clock, { ...child, ...inherited }));
        await placeSandbox(tx, child.id, { nodeId: row.node_id as string, backend });
      }
      return { parent: row, children: made };
    });
    const giveUp = (child: string) => nodes.unknown.giveUp(child);
    try {
      const asked = children.map((child) => ({ id: child.id, expires_at: Date.parse(child.expires_at) }));
      const forked = await (await nodes.reach(parent.node_id)).fork(id, asked);
      for (const child of forked.children) {
        const made = { restored: child.restored, imageDigest: parent.image_digest ?? '', detail: { parent: id } };
        try {
          if (child.error === undefined) await begin(kernel, by, child.id, 'forked', made);
        } catch (err) {
          kernel.log.error({ err, sandbox: child.id }, 'a fork was made and not kept');
          child.error = 'the fork could not be kept; try again';
        }
        if (child.error !== undefined) await giveUp(child.id);
      }
      return { object: 'list' as const, parent_id: id, data: forked.children };
    } catch (error) {
      for (const child of children) await giveUp(child.id);
      throw toApiFailure(error);
    }
  });
