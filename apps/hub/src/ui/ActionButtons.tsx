import { type Action, operationOf } from '../api/actions.ts';
import { useWords } from '../words/words.tsx';
import { useActs } from './acts.tsx';
import { Button } from './Button.tsx';
import { Silence } from './Silence.tsx';

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
            onPress={() => acts.send(call.operation, call.input, words.actions.done[action.id], stale)}
          >
            {words.actions[action.id]}
          </Button>
        );
      })}
    </>
  );
}
