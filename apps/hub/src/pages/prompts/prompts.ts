import { api } from '../../api/client.ts';
import type { Tone } from '../../ui/Status.tsx';

/** A prompt of the API. */
export type PromptRecord = Awaited<ReturnType<typeof api.prompts.list>>['prompts'][number];

/** How a state looks. */
export const stateTone: Record<PromptRecord['status'], Tone> = {
  open: 'warn',
  launched: 'busy',
  sent: 'busy',
  answered: 'busy',
  verified: 'good',
  done: 'good',
  dismissed: 'rest',
  superseded: 'rest',
};

/** What a write to a prompt makes old. */
export const staleByPrompt = ['prompts', 'overview'];

const longestTitle = 120;
/** The first line of a prompt, for a heading or a row. */
export function titleOf({ prompt }: { prompt: string }): string {
  const [line = ''] = prompt.trim().split('\n');
  return line.length > longestTitle ? `${line.slice(0, longestTitle)}…` : line;
}

/** Whether something may still be done with it. */
export const isOpen = ({ status }: PromptRecord): boolean => !['done', 'dismissed', 'superseded'].includes(status);
