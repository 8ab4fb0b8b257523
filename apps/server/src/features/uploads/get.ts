import { contract } from '@svc/contract';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import type { Uploads } from './uploads.store.ts';
import { checkVersion } from './uploads.tus.ts';
import { stateHeaders, toUpload } from './uploads.view.ts';

export const get = (uploads: Uploads): Operation =>
  operation(contract.uploads.get, async (context, { params, headers }) => {
    // HEAD is tus; who GETs reads JSON.
    if (context.isHead || headers['tus-resumable'] !== undefined) checkVersion(headers['tus-resumable']);
    const row = await uploads.get(context.db, context.actor.accountId, params.id);
    return new Answer(toUpload(row), { headers: stateHeaders(row) });
  });
