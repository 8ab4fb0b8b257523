import { useState } from 'preact/hooks';
import { api, apiUrl } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Qr } from '../../ui/Qr.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { installLine } from '../machines/machines.rules.ts';
import { lineOfFresh, lineOfKnown } from './enrol.rules.ts';
import { stale } from './environments.ts';

/** A line to paste. It holds a token: it is kept nowhere but in this dialog. */
interface Line {
  text: string;
  ends: string;
  /** The device that was enrolled before it was made. */
  before: string | null;
}
const loopback = /^https?:\/\/(?:localhost|127\.|\[::1\])/;
const lookEveryMs = 1_500;

/** Makes the line with which a machine enrols, and waits for the machine. */
export function Enrol({ id, onClose }: { id: string; onClose: () => void }) {
  const words = useWords();
  const text = words.enrolment;
  const acts = useActs();
  const [which, setWhich] = useState<string>('known');
  const [line, setLine] = useState<Line>();
  const make = async (): Promise<void> => {
    const made = await acts.run(
      async () => {
        const { environment } = await api.environments.get({ params: { id } });
        const before = environment.state === 'pending' ? null : environment.deviceId;
        const { token, expires_at: ends } = await api.environments.enrollToken({ params: { id } });
        if (which === 'known') return { text: lineOfKnown(apiUrl, token), ends, before };
        const invitation = await api.hosts.invite({ body: {} });
        const install = installLine(apiUrl, invitation);
        // The code of an invitation ends before the token does.
        const first = Date.parse(invitation.expires_at) < Date.parse(ends) ? invitation.expires_at : ends;
        return { text: lineOfFresh(install, apiUrl, token), ends: first, before };
      },
      { stale },
    );
    if (made) setLine(made);
  };
  return (
    <Dialog title={text.act} onClose={onClose} wide>
      <div class="stack">
        <Filter
          label={text.which}
          value={which}
          onChange={(value) => {
            setWhich(value);
            setLine(undefined);
          }}
          options={[
            ['known', text.known],
            ['fresh', text.fresh],
          ]}
        />
        {line === undefined ? (
          <>
            <p class="hint">{text.replaces}</p>
            <Button look="primary" onPress={make}>
              {text.make}
            </Button>
          </>
        ) : (
          <>
            <p>
              {text.paste} <Time at={line.ends} />
            </p>
            {loopback.test(apiUrl) && <p class="box note">{words.machines.loopback(apiUrl)}</p>}
            <CopyText text={line.text} />
            <details>
              <summary>{text.qr}</summary>
              <Qr text={line.text} label={text.qr} />
            </details>
            <Waiting id={id} before={line.before} />
          </>
        )}
      </div>
    </Dialog>
  );
}

function Waiting({ id, before }: { id: string; before: string | null }) {
  const text = useWords().enrolment;
  const { data } = useAnswer(['environments', id], async () => api.environments.get({ params: { id } }), {
    everyMs: lookEveryMs,
  });
  const { state, deviceId } = data?.environment ?? {};
  const isNew = deviceId !== undefined && deviceId !== null && deviceId !== before;
  if (isNew && state === 'running')
    return (
      <p class="well" role="status">
        <Icon name="check" />
        {text.here}
      </p>
    );
  return (
    <p class="box note" role="status">
      {isNew && state === 'enrolling' ? text.reports : text.waiting}
    </p>
  );
}
