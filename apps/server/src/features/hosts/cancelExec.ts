import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import type { Execs } from './execs/execs.ts';
import { readerOf, viewExec } from './execs/view.ts';

/** Keeps a command from starting, or has its host end it; what is over stays as it is. */
export const cancelExec = (execs: Execs): Operation =>
  operation(contract.hosts.cancelExec, async ({ actor, by }, { params }) => {
    const id = params.req_id;
    const { accountId } = actor;
    const row = await execs.cancel(readerOf(actor, true), id, (tx) =>
      writeAct(tx, { accountId, by, action: 'hosts.exec.cancel', subject: id }),
    );
    if (!row) throw notFound('command');
    return viewExec(row, { withResult: true });
  });
