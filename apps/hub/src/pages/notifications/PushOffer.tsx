import { useEffect, useState } from 'preact/hooks';
import { enablePush, pushState } from '../../api/push.ts';
import type { PushState } from '../../api/push.rules.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { done, type Outcome, refused } from '../../ui/outcomes.ts';
import { useWords } from '../../words/words.tsx';

/** Offers to tell this device, where it can be told and is not yet; never by itself. */
export function PushOffer() {
  const words = useWords();
  const acts = useActs();
  const [state, setState] = useState<PushState>();
  useEffect(() => void pushState().then(setState), []);
  if (state === undefined || state === 'on') return null;
  const text = words.push;
  if (state === 'install')
    return (
      <div class="box note offer">
        <div>
          <p>{text.install}</p>
          <ol class="pictures">
            {text.installSteps.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
        </div>
      </div>
    );
  if (state === 'impossible' || state === 'denied')
    return <p class="box note">{state === 'denied' ? text.denied : text.impossible}</p>;
  const saidOf = ({ state: now, isTested }: { state: PushState; isTested: boolean }): Outcome => {
    if (now === 'on') return done(isTested ? text.enabled : text.enabledUntested);
    return refused(now === 'denied' ? text.denied : text.impossible);
  };
  const enable = async (): Promise<void> => {
    const result = await acts.run(enablePush, { done: saidOf });
    if (result !== undefined) setState(result.state);
  };
  return (
    <div class="box note offer">
      <p>{text.offer}</p>
      <Button look="primary" icon="alerts" onPress={enable}>
        {text.enable}
      </Button>
    </div>
  );
}
