import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { checkTtl } from './sandboxes.create.ts';
import type { Nodes } from './nodes/nodes.ts';
import { createToken, hashOf, previewUrl } from './previews/address.ts';
import { insertPreview } from './previews/previews.sql.ts';
import type { PreviewListener } from './previews/listener.ts';
import { runningSandbox } from './sandboxes.running.ts';

const ttl = { least: 60, most: 3600 };

const unavailable = (message: string): ApiError =>
  new ApiError('sandbox_capacity', message, { headers: { 'retry-after': '3600', 'x-should-retry': 'false' } });

/** Makes an address: anyone who has it reaches the port until it is void. */
export const preview = (nodes: Nodes, listener: PreviewListener) =>
  operation(contract.sandboxes.preview, async ({ kernel, db, actor, by, clock }, { params: { id }, body }) => {
    const { port, ttl_seconds: ttlSeconds } = body;
    checkTtl(ttlSeconds, ttl.most, ttl.least);
    const { audit } = await runningSandbox({ kernel, actor, by }, nodes, id);
    const { config } = kernel;
    const token = createToken();
    const url = previewUrl(config, { port, token, listens: listener.port });
    if (typeof url !== 'string') throw unavailable(url.missing);
    const { expires_at } = await insertPreview(db, clock, {
      tokenHash: hashOf(token),
      accountId: actor.accountId,
      keyId: actor.keyId,
      sandboxId: id,
      port,
      ttlSeconds,
    });
    await audit('preview', { port, ttl_seconds: ttlSeconds });
    return { port, url, expires_at };
  });
