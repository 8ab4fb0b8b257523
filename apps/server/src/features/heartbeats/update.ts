import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { announce, happenedIn, type HeartbeatHooks } from './heartbeats.alert.ts';
import { defaultGraceS, expire, pause } from './heartbeats.rules.ts';
import { lockMonitor, saveStates, stateOf, updateTerms } from './heartbeats.sql.ts';
import { toRecord } from './heartbeats.view.ts';

/** What was due under the old terms happens first; the new ones count from now on. */
export const update = (hooks: HeartbeatHooks): Operation =>
  operation(contract.heartbeats.update, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const { kernel, clock, actor } = context;
      const row = await lockMonitor(tx, clock, actor.accountId, params.id);
      if (!row) throw notFound('heartbeat');
      const now = Date.parse(row.now);
      const before = stateOf(row);
      const step = body.paused === undefined ? expire(before, now) : pause(before, body.paused, now);
      const changed = await updateTerms(tx, clock, row.id, {
        name: body.name,
        periodS: body.period_s,
        graceS: body.grace_s === null ? defaultGraceS(body.period_s ?? before.periodS) : body.grace_s,
        tz: body.tz,
      });
      const state = { ...step.state, periodS: changed.period_s, graceS: changed.grace_s };
      await saveStates(tx, [{ id: row.id, state, pingSeq: row.ping_seq }]);
      await announce(kernel, tx, hooks, happenedIn(row, before, step));
      return toRecord({ ...changed, status: state.status });
    }),
  );
