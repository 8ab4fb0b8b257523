import { useState } from 'preact/hooks';
import { api, apiUrl } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { isLoopback } from '../../api/loopback.ts';
import { useAnswer } from '../../api/queries.ts';
import { Button, ButtonLink } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { CheckField, TextField } from '../../ui/Field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Qr } from '../../ui/Qr.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { installLine } from './machines.rules.ts';

type Invitation = Awaited<ReturnType<typeof api.hosts.invite>>;
const askMs = 5_000;

/** The machines that are here now. */
const readHere = async () => (await api.machines.list({ query: { limit: 100, online: 'true' } })).machines;

/** The machine that came since; undefined until it does, and while nobody waits for one. */
function useComer(before: string[] | undefined) {
  const answer = useAnswer(['machines', 'here'], readHere, {
    enabled: before !== undefined,
    everyMs: askMs,
    kept: false,
  });
  return before && answer.data?.find(({ device_id: id }) => !before.includes(id));
}

/** Makes the line with which another machine becomes one of ours. */
export function Invite({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.machines;
  const acts = useActs();
  const [name, setName] = useState('');
  const [allowsShell, setAllowsShell] = useState(false);
  const [made, setMade] = useState<Invitation & { before: string[] }>();
  const invite = async (): Promise<void> => {
    const body = name.trim() === '' ? {} : { name: name.trim() };
    const work = async () => {
      const before = (await readHere()).map(({ device_id: id }) => id);
      return { ...(await api.hosts.invite({ body })), before };
    };
    setMade(await acts.run(work));
  };
  const came = useComer(made?.before);
  return (
    <Dialog title={text.invite} onClose={onClose} wide>
      {came ? (
        <div class="stack">
          <p class="well" role="status">
            <Icon name="check" />
            {text.came(came.name)}
          </p>
          <ButtonLink to={`/machines/${came.device_id}`} look="primary">
            {words.open}
          </ButtonLink>
        </div>
      ) : made === undefined ? (
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
          {isLoopback(apiUrl) && <p class="box note">{text.loopback(apiUrl)}</p>}
          <CopyText text={installLine(apiUrl, made) + (allowsShell ? ' --allow-shell' : '')} />
          <details>
            <summary>{text.showQr}</summary>
            <Qr text={installLine(apiUrl, made)} label={text.showQr} />
          </details>
          <p class="hint" role="status">
            <Icon name="clock" />
            {text.waitsForIt}
          </p>
        </div>
      )}
    </Dialog>
  );
}
