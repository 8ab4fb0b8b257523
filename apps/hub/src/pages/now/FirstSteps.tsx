import { ButtonLink } from '../../ui/Button.tsx';
import { Section } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import type { Overview } from './overview.ts';

/** This device could be told of what happens, and was not asked yet. */
const canBeTold = (): boolean => 'Notification' in globalThis && Notification.permission === 'default';

/** What a new account does first; each step goes when it is done, and with the machine the one of this device. */
export function FirstSteps({ overview: { counts } }: { overview: Overview }) {
  const words = useWords();
  const text = words.now;
  const { heartbeats, machines } = counts;
  const hasMonitor = !heartbeats || Object.values(heartbeats).some((count) => count > 0);
  const hasMachine = !machines || machines.online + machines.away > 0;
  if (hasMonitor && hasMachine) return null;
  return (
    <Section title={text.firstSteps}>
      <ol class="steps">
        {!hasMonitor && (
          <li>
            <div>
              <h3>{text.stepMonitor}</h3>
              <p class="hint">{text.stepMonitorText}</p>
            </div>
            <ButtonLink to="/heartbeats/new" look="primary">
              {words.monitors.new}
            </ButtonLink>
          </li>
        )}
        {!hasMachine && (
          <li>
            <div>
              <h3>{text.stepMachine}</h3>
              <p class="hint">{text.stepMachineText}</p>
            </div>
            <ButtonLink to="/machines?invite=1">{words.machines.invite}</ButtonLink>
          </li>
        )}
        {canBeTold() && (
          <li>
            <div>
              <h3>{text.stepPhone}</h3>
              <p class="hint">{text.stepPhoneText}</p>
            </div>
            <ButtonLink to="/notifications">{words.nav.notifications}</ButtonLink>
          </li>
        )}
      </ol>
    </Section>
  );
}
