import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { CheckField, TextField } from '../../ui/Field.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Answered } from '../../ui/State.tsx';
import { useWords } from '../../words/words.tsx';
import { EditKey } from './EditKey.tsx';
import { descendantsOf, type KeyRecord, staleByKey as stale, useAllKeys } from './keys.ts';

/** Edit, pause, resume and revoke a key. */
export function KeyActs({ item }: { item: KeyRecord }) {
  const words = useWords();
  const text = words.keys;
  const acts = useActs();
  const [open, setOpen] = useState<'edit' | 'revoke'>();
  const { id, status } = item;
  const close = (): void => setOpen(undefined);
  const set = (next: 'active' | 'paused'): Promise<unknown> =>
    acts.run(async () => api.keys.update({ params: { id }, body: { status: next } }), {
      done: next === 'paused' ? text.paused : text.resumed,
      stale,
    });
  if (status === 'revoked') return null;
  return (
    <>
      <Menu
        label={words.moreActs}
        items={[
          { label: words.oneKey.edit, act: () => setOpen('edit') },
          status === 'paused'
            ? { label: words.actions.resume, act: () => set('active') }
            : { label: words.actions.pause, act: () => set('paused') },
          { label: text.revoke, act: () => setOpen('revoke'), isDanger: true },
        ]}
      />
      {open === 'edit' && <EditKey item={item} onClose={close} />}
      {open === 'revoke' && <RevokeKey item={item} onClose={close} />}
    </>
  );
}

/** Revokes a key; the keys that it made are named first, and end with it where the person says so. */
function RevokeKey({ item, onClose }: { item: KeyRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.oneKey;
  const acts = useActs();
  const answer = useAllKeys();
  const [typed, setTyped] = useState('');
  const [takesAll, setTakesAll] = useState(true);
  const { id, name } = item;
  const revoke = async (): Promise<void> => {
    const query = { children: takesAll ? ('true' as const) : ('false' as const) };
    const gone = await acts.run(async () => api.keys.revoke({ params: { id }, query }), { stale });
    if (!gone) return;
    acts.say(text.revoked(gone.children_revoked));
    if (gone.children_left > 0) acts.say(text.left(gone.children_left), { isProblem: true });
    onClose();
  };
  return (
    <Dialog title={words.keys.revoke} onClose={onClose}>
      <Answered answer={answer} rows={2}>
        {(all) => (
          <form
            class="stack"
            onSubmit={(event) => {
              event.preventDefault();
              if (typed.trim() === name.trim()) void revoke();
            }}
          >
            <Children keys={descendantsOf(id, all)} takesAll={takesAll} onTakesAll={setTakesAll} />
            <p>{text.revokeText(name)}</p>
            <TextField label={words.name} value={typed} onInput={setTyped} />
            <Button look="danger" type="submit" disabled={typed.trim() !== name.trim()}>
              {words.keys.revoke}
            </Button>
          </form>
        )}
      </Answered>
    </Dialog>
  );
}

function Children({
  keys,
  takesAll,
  onTakesAll,
}: {
  keys: KeyRecord[];
  takesAll: boolean;
  onTakesAll: (takesAll: boolean) => void;
}) {
  const text = useWords().oneKey;
  if (keys.length === 0) return <p class="hint">{text.noChildren}</p>;
  return (
    <div class="box note">
      <div>
        <p>{text.childrenText(keys.length)}</p>
        <ul class="names">
          {keys.map(({ id, name, prefix }) => (
            <li key={id}>
              <bdi>{name}</bdi> <code class="hint">{prefix}…</code>
            </li>
          ))}
        </ul>
        <CheckField label={text.withChildren} checked={takesAll} onChange={onTakesAll} />
      </div>
    </div>
  );
}
