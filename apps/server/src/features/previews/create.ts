import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { checkTtl, type Sandboxes } from '../sandboxes/index.ts';
import type { PreviewListener } from './previews.listener.ts';
import { insertPreview } from './previews.sql.ts';
import { createToken, hashOf } from './previews.token.ts';

const ttl = { least: 60, most: 3600 };

/** An address to open: of a listener on every address, this machine's own. */
const hostOf = (host: string): string =>
  ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;

export const create = (sandboxes: Sandboxes, listener: PreviewListener) =>
  operation(contract.previews.create, async ({ kernel, db, actor, clock }, { params: { id }, body }) => {
    const { port, ttl_seconds: ttlSeconds } = body;
    checkTtl(ttlSeconds, ttl.most, ttl.least);
    const { audit } = await sandboxes.running({ db, actor }, id);
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
