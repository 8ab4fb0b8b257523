import { Readable } from 'node:stream';
import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import { followText } from '../../kernel/streams/follow.ts';
import type { Execs } from './execs/execs.ts';
import { findExec, noteSeen } from './execs/execs.sql.ts';
import { execStates } from './execs/execs.states.ts';
import { readOutput } from './execs/output.ts';
import { readerOf } from './execs/view.ts';

const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
/** A follower looks again this often by itself: a message may be lost. */
const lookAgainMs = 2_000;
/** Who follows is noted this often: somebody who does needs no notification of the end. */
const noteEveryMs = 10_000;

/** Answers what a command has written, or streams it as it is written. */
export const execOutput = (execs: Execs): Operation =>
  operation(contract.hosts.execOutput, async (context, { params, query }) => {
    const { kernel, actor, clock } = context;
    const { sql } = kernel;
    const reader = readerOf(actor);
    const row = await findExec(sql, reader, params.req_id);
    if (!row) throw notFound('command');
    const { id } = row;
    if (!context.isStreamed) return new Answer(Readable.from(readOutput(kernel, id, query.from)), { headers });
    const stream = context.openEvents();
    let notedAt = Number.NEGATIVE_INFINITY;
    const following = followText(clock, stream, query.from, {
      next: (signal) => execs.changes.next(id, lookAgainMs, signal),
      async over() {
        if (clock.monotonic() - notedAt >= noteEveryMs) {
          notedAt = clock.monotonic();
          await noteSeen(sql, clock, id);
        }
        const now = await findExec(sql, reader, id);
        if (!now) return 'unknown';
        return execStates.isFinal(now.state) ? now.state : undefined;
      },
      read: (from) => readOutput(kernel, id, from),
      event: (piece) => ['chunk', piece],
    });
    void following.catch((err: unknown) => {
      context.log.error({ err, exec: id }, 'an output could not be followed');
      stream.destroy();
    });
    return Readable.from([]);
  });
