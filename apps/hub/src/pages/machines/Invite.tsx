import { useState } from 'preact/hooks';
import { api, apiUrl } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { CheckField, TextField } from '../../ui/Field.tsx';
import { Qr } from '../../ui/Qr.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { installLine } from './machines.rules.ts';

type Invitation = Awaited<ReturnType<typeof api.hosts.invite>>;
const loopback = /^https?:\/\/(?:localhost|127\.|\[::1\])/;

/** Makes the line with which another machine becomes one of ours. */
export function Invite({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.machines;
  const acts = useActs();
  const [name, setName] = useState('');
  const [allowsShell, setAllowsShell] = useState(false);
  const [made, setMade] = useState<Invitation>();
  const invite = async (): Promise<void> => {
    const body = name.trim() === '' ? {} : { name: name.trim() };
    setMade(await acts.run(async () => api.hosts.invite({ body })));
  };
  return (
    <Dialog title={text.invite} onClose={onClose} wide>
      {made === undefined ? (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void invite();
          }}
        >
          <TextField label={words.name} value={name} onInput={setName} hint={text.nameHint} />
          <CheckField
            label={text.allowShell}
            hint={text.allowShellHint}
            checked={allowsShell}
            onChange={setAllowsShell}
          />
          <Button look="primary" type="submit">
            {text.makeLine}
          </Button>
        </form>
      ) : (
        <div class="stack">
          <p>
            {text.pasteLine} <Time at={made.expires_at} />
          </p>
          {loopback.test(apiUrl) && <p class="box note">{text.loopback(apiUrl)}</p>}
          <CopyText text={installLine(apiUrl, made) + (allowsShell ? ' --allow-shell' : '')} />
          <details>
            <summary>{text.showQr}</summary>
            <Qr text={installLine(apiUrl, made)} label={text.showQr} />
          </details>
        </div>
      )}
    </Dialog>
  );
}
