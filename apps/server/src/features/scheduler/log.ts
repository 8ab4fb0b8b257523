import { Readable } from 'node:stream';
import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { followText } from '../../kernel/streams/follow.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import { findLog } from './logs/logs.sql.ts';
import { openLog, readLog } from './logs/store.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { findRun } from './scheduler.sql.ts';
import { runStates } from './scheduler.states.ts';

const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
/** A follower looks again this often by itself: a message may be lost. */
const lookAgainMs = 2_000;

/** Answers the log of a run as it is now, with its length in bytes in a header, or streams it as it is written. */
export const log = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.log, async (context, { params, query }) => {
    const { kernel, actor } = context;
    const run = await findRun(kernel.sql, params.id, actor.accountId);
    if (!run) throw notFound('run');
    if (!context.isStreamed) {
      const { bytes = 0 } = (await findLog(kernel.sql, run.id)) ?? {};
      const kept = { ...headers, 'x-svc-log-bytes': String(bytes) };
      return new Answer(await openLog(kernel, run.id, query.from), { headers: kept });
    }
    const stream = context.openEvents();
    const following = followText(kernel.clock, stream, query.from, {
      next: (signal) => parts.changes.nextLog(run.id, lookAgainMs, signal),
      async over() {
        const now = await findRun(kernel.sql, run.id, actor.accountId);
        if (!now) return 'deleted';
        return runStates.isFinal(now.state) ? now.state : undefined;
      },
      read: (from) => readLog(kernel, run.id, from),
      event: ({ from, text }) => ['log', { from, text }],
    });
    void following.catch((err: unknown) => {
      context.log.error({ err, run: run.id }, 'a log could not be followed');
      stream.destroy();
    });
    return Readable.from([]);
  });
