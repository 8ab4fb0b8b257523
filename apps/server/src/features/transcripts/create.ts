import { contract } from '@svc/contract';
import { badRequest, notFound } from '../../kernel/base/errors.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import { findLocales } from '../accounts/index.ts';
import { findFolder } from './library/folders.sql.ts';
import type { Transcripts } from './transcripts.store.ts';

const dayMs = 86_400_000;

export const create = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.create, async (context, { body }) => {
    const { accountId } = context.actor;
    const startedAt = body.started_at === undefined ? null : new Date(body.started_at);
    if (startedAt && startedAt.getTime() > context.clock.now() + dayMs) {
      const message = 'must be at most a day ahead';
      throw badRequest(`started_at: ${message}`, { started_at: [message] });
    }
    const { created, row } = await context.transaction(async (tx) => {
      if (body.folder_id !== undefined && !(await findFolder(tx, accountId, body.folder_id))) throw notFound('folder');
      return transcripts.create(tx, {
        accountId,
        clientId: body.client_id ?? null,
        source: body.source,
        startedAt: startedAt?.toISOString() ?? null,
        title: body.title ?? null,
        locale: (await findLocales(tx, [accountId])).get(accountId) ?? 'en',
        language: body.language ?? null,
        folderId: body.folder_id ?? null,
        tags: [...new Set(body.tags)],
        consent: body.consent ?? null,
      });
    });
    return new Answer({ transcript: await transcripts.whole(context.db, row) }, { status: created ? 201 : 200 });
  });
