import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Prompts } from './prompts.store.ts';
import { toPrompt } from './prompts.view.ts';

export const launch = (prompts: Prompts): Operation =>
  operation(contract.prompts.launch, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const { accountId, keyId } = context.actor;
      const { target_device_id: target, force, stop } = body;
      const row = await prompts.lock(tx, accountId, params.id);
      const launched = await prompts.launch(tx, row, { target, force, stop, keyId });
      const details = { session: launched.run_session_id, device: launched.run?.device };
      await writeAct(tx, { accountId, by: context.by, action: 'prompts.launch', subject: row.id, details });
      return { prompt: toPrompt(launched) };
    }),
  );
