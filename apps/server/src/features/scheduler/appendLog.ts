import { buffer } from 'node:stream/consumers';
import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { serveAs } from '../devices/index.ts';
import { leaseHeld } from './heartbeat.ts';
import { appendLog as append } from './logs/store.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { hasAnswered, hasAttempt } from './scheduler.effects.ts';
import { findRun } from './scheduler.sql.ts';

/** Takes what an attempt wrote, from its holder, also after its end: the last of it may come late. */
export const appendLog = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.appendLog, async (context, { params, query }) => {
    const { actor, deviceId } = context;
    if (deviceId !== undefined) await serveAs(context.db, { actor, deviceId });
    const run = await findRun(context.db, params.id, actor.accountId);
    if (!run) throw notFound('run');
    const by = { pool: 'host', attempt: query.attempt, holderId: deviceId } as const;
    if (!hasAttempt(run, by) && !hasAnswered(run, by)) throw leaseHeld(run);
    const text = await buffer(context.upload);
    if (!isText(text)) throw new ApiError('bad_request', 'a log is UTF-8 text');
    const attempt = { id: run.id, account_id: run.account_id, attempt: query.attempt };
    const taken = await append(context.kernel, attempt, query.offset, text);
    await parts.changes.publishLog(context.db, run);
    return taken;
  });

function isText(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
