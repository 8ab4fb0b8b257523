import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/http/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { checkTtl } from './sandboxes.create.ts';
import type { Nodes } from './sandboxes.nodes.ts';
import { createToken, hashOf } from './sandboxes.previews.address.ts';
import { insertPreview } from './sandboxes.previews.sql.ts';
import type { PreviewListener } from './sandboxes.previews.ts';
import { runningSandbox } from './sandboxes.running.ts';

const ttl = { least: 60, most: 3600 };

/** An address to open: of a listener on every address, this machine's own. */
const hostOf = (host: string): string =>
  ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;

/** A fresh address: whoever has it reaches the port until it is void. */
export const preview = (nodes: Nodes, listener: PreviewListener) =>
  operation(contract.sandboxes.preview, async ({ kernel, db, actor, by, clock }, { params: { id }, body }) => {
    const { port, ttl_seconds: ttlSeconds } = body;
    checkTtl(ttlSeconds, ttl.most, ttl.least);
    const { audit } = await runningSandbox({ db, actor, by }, nodes, id);
    const domain = kernel.config.previewDomain;
    if (domain === undefined && listener.port === undefined) {
      throw new ApiError('sandbox_capacity', 'previews have no port here; set SVC_PREVIEW_PORT to a free one', {
        headers: { 'retry-after': '60' },
      });
    }
    const token = createToken();
    const { expires_at } = await insertPreview(db, clock, {
      tokenHash: hashOf(token),
      accountId: actor.accountId,
      keyId: actor.keyId,
      sandboxId: id,
      port,
      ttlSeconds,
    });
    await audit('preview', { port, ttl_seconds: ttlSeconds });
    const url =
      domain === undefined
        ? `http://${hostOf(kernel.config.host)}:${listener.port}/${token}/`
        : `https://${port}-${token}.${domain}/`;
    return { port, url, expires_at };
  });
