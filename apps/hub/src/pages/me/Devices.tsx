import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { PhoneDialog } from './PhoneDialog.tsx';

const stale = ['me'];

/** Browsers that are signed in, and the way to sign a phone in. */
export function Devices() {
  const words = useWords();
  const text = words.me;
  const acts = useActs();
  const [isPhone, setPhone] = useState(false);
  const answer = useAnswer(['me', 'logins'], async () => (await api.me.listLogins()).logins);
  return (
    <Section title={text.devices} acts={<Button onPress={() => setPhone(true)}>{text.addPhone}</Button>}>
      <Answered answer={answer}>
        {(logins) => (
          <>
            <ul class="rows">
              {logins.map(({ id, name, network, last_seen_at: seen, current }) => (
                <li key={id} class="row padded">
                  <span class="row-main">
                    <span class="row-title">{name === '' ? text.unnamed : name}</span>
                    <span class="row-detail">
                      {current ? text.thisDevice : <Time at={seen} />} · {network}
                    </span>
                  </span>
                  {!current && (
                    <Button onPress={() => acts.run(async () => api.me.endLogin({ params: { id } }), { stale })}>
                      {words.signOut}
                    </Button>
                  )}
                </li>
              ))}
            </ul>
            {/* With one in the list too: a copy of its cookie stands in no list, and ends with this. */}
            <div>
              <Button
                look="danger"
                onPress={() => acts.run(async () => api.me.endLogins(), { done: text.othersOut, stale })}
              >
                {text.signOutOthers}
              </Button>
            </div>
          </>
        )}
      </Answered>
      {isPhone && <PhoneDialog onClose={() => setPhone(false)} />}
    </Section>
  );
}
