import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import { appendPiece } from './append.ts';
import type { Uploads } from './uploads.store.ts';
import { checkVersion } from './uploads.tus.ts';
import { stateHeaders } from './uploads.view.ts';

export const override = (uploads: Uploads): Operation =>
  operation(contract.uploads.override, async (context, { params, headers }) => {
    const method = headers['x-http-method-override']?.toUpperCase();
    if (method === 'PATCH') return appendPiece(uploads, context, { params, headers });
    if (method !== 'DELETE' && method !== 'HEAD') {
      const message = 'must be PATCH, DELETE or HEAD';
      throw badRequest(`X-HTTP-Method-Override: ${message}`, { 'x-http-method-override': [message] });
    }
    checkVersion(headers['tus-resumable']);
    if (method === 'HEAD') {
      const row = await uploads.get(context.db, context.actor.accountId, params.id);
      return new Answer(undefined, { headers: stateHeaders(row) });
    }
    await uploads.remove(context.actor.accountId, params.id);
    return undefined;
  });
