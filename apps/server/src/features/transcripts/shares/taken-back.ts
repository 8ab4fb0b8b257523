import { writeAct } from '../../../kernel/records/audit.ts';
import type { TakesBack } from '../../../kernel/records/let-in.ts';
import { endShare } from './make.ts';

/** Takes back the links that an app made. */
export const sharesTakeBack: TakesBack = {
  async share(tx, { ids: [transcript = '', share = ''], accountId, by }) {
    if (!(await endShare(tx, transcript, share))) return;
    await writeAct(tx, { accountId, by, action: 'transcripts.revokeShare', subject: transcript, details: { share } });
  },
};
