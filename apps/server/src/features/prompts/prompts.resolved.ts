import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type EndOfCause, resolveNotifications } from '../notifications/index.ts';
import type { PromptMoveName } from './prompts.moves.ts';

type Resolution = EndOfCause['resolution'];
type Of = { id: string; account_id: string };

/** Of notifications that ask for something to be done about a prompt. */
export const promptCause = (id: string): string => `prompt:${id}`;

/** How the notifications of a prompt are resolved by its moves; a move that is not named leaves them. */
const resolutions: Partial<Record<PromptMoveName, Resolution>> = {
  launch: 'started',
  match: 'started',
  answer: 'done',
  verify: 'done',
  finish: 'done',
  dismiss: 'dismissed',
  supersede: 'removed',
  snooze: 'postponed',
};

/** Resolves what was told of a prompt, of some types or all. */
export function resolvePrompt(
  kernel: Kernel,
  tx: Db,
  { id, account_id: accountId }: Of,
  resolution: Resolution,
  types?: readonly string[],
): Promise<void> {
  return resolveNotifications(kernel, tx, [{ accountId, cause: promptCause(id), resolution, ...(types && { types }) }]);
}

/** Resolves what was told of a prompt that was moved. */
export async function resolveMoved(kernel: Kernel, tx: Db, of: Of, name: PromptMoveName): Promise<void> {
  const resolution = resolutions[name];
  if (resolution !== undefined) await resolvePrompt(kernel, tx, of, resolution);
}
