import { type Action, operationOf } from '../api/actions.ts';
import { useWords, type Words } from '../words/words.tsx';
import { useActs } from './acts.tsx';
import { Button } from './Button.tsx';
import { done, type Outcome, refused } from './outcomes.ts';
import { Silence } from './Silence.tsx';

/** What is said once a run was asked for again: a pause, a limit or another run may forbid it. */
export const runAgain =
  (words: Words) =>
  ({ queued }: { queued: boolean }): Outcome =>
    queued ? done(words.actions.done.rerun) : refused(words.schedules.notQueued);

const saidOf =
  (id: Action['id'], words: Words) =>
  (result: unknown): Outcome =>
    id === 'rerun' ? runAgain(words)(result as { queued: boolean }) : done(words.actions.done[id]);

/** Buttons of what needs a person; each goes once, also when it is pressed without a network. */
export function ActionButtons({
  actions,
  stale,
  first = 'primary',
  isSilent = false,
}: {
  actions: readonly Action[];
  stale: readonly string[];
  /** How the first one looks. */
  first?: 'primary' | 'plain';
  /** Of a monitor that nobody is told of for now. */
  isSilent?: boolean;
}) {
  const words = useWords();
  const acts = useActs();
  return (
    <>
      {actions.map((action, at) => {
        const call = operationOf(action);
        if (!call) return null;
        // A message cannot hold the instant when a silence ends: the button here adds it.
        if (action.id === 'pause' && call.operation === 'heartbeats.update')
          return (
            <Silence
              key={action.id}
              id={action.path.split('/').at(-1) ?? ''}
              look={at === 0 ? first : 'plain'}
              isSilent={isSilent}
            />
          );
        return (
          <Button
            key={action.id}
            look={at === 0 ? first : 'plain'}
            onPress={() => acts.send(call.operation, call.input, saidOf(action.id, words), stale)}
          >
            {words.actions[action.id]}
          </Button>
        );
      })}
    </>
  );
}
