import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findPingKey } from './heartbeats.keys.sql.ts';

export const getPingKey = operation(contract.heartbeats.getPingKey, async ({ db, actor }) => {
  const createdAt = await findPingKey(db, actor.accountId);
  if (createdAt === undefined) throw notFound('ping key');
  return { created_at: createdAt };
});
