import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Uploads } from './uploads.store.ts';
import { checkVersion } from './uploads.tus.ts';

export const remove = (uploads: Uploads): Operation =>
  operation(contract.uploads.remove, async (context, { params, headers }) => {
    checkVersion(headers['tus-resumable']);
    await uploads.remove(context.actor.accountId, params.id);
    return undefined;
  });
