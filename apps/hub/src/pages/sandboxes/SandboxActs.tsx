import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { useWords } from '../../words/words.tsx';
import { nameOf, type SandboxRecord, staleBySandbox as stale } from './sandboxes.ts';

/** Pause, resume, fork, extend and destroy. */
export function SandboxActs({ sandbox }: { sandbox: SandboxRecord }) {
  const words = useWords();
  const text = words.sandboxes;
  const acts = useActs();
  const [, go] = useLocation();
  const [open, setOpen] = useState<'extend' | 'destroy'>();
  const { id, status } = sandbox;
  const params = { id };
  const name = nameOf(sandbox, words);
  const close = (): void => setOpen(undefined);
  const fork = async (): Promise<void> => {
    const made = await acts.run(async () => api.sandboxes.fork({ params, body: { count: 1 } }), { stale });
    const child = made?.data[0];
    if (child?.error !== undefined) acts.say(child.error, { isProblem: true });
    else if (child) {
      acts.say(text.forked);
      go(`/sandboxes/${child.id}`);
    }
  };
  return (
    <>
      {status === 'paused' ? (
        <Button
          look="primary"
          icon="play"
          onPress={() =>
            acts.run(async () => api.sandboxes.resume({ params }), { done: words.actions.done.resume, stale })
          }
        >
          {words.actions.resume}
        </Button>
      ) : (
        <Button
          icon="pause"
          onPress={() =>
            acts.run(async () => api.sandboxes.pause({ params, body: {} }), { done: words.actions.done.pause, stale })
          }
        >
          {words.actions.pause}
        </Button>
      )}
      <Menu
        label={words.moreActs}
        items={[
          ...(status === 'running' ? [{ label: text.fork, act: fork }] : []),
          { label: text.extend, act: () => setOpen('extend') },
          { label: text.destroy, act: () => setOpen('destroy'), isDanger: true },
        ]}
      />
      {open === 'extend' && <Extend id={id} onClose={close} />}
      {open === 'destroy' && (
        <DeleteDialog
          name={name}
          label={text.destroy}
          text={text.destroyText(name)}
          onClose={close}
          onDelete={async () => {
            const gone = await acts.run(async () => api.sandboxes.remove({ params }), { done: text.destroyed, stale });
            if (gone) go('/sandboxes');
          }}
        />
      )}
    </>
  );
}

function Extend({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useWords().sandboxes;
  const acts = useActs();
  const [ttl, setTtl] = useState('3600');
  const extend = async (): Promise<void> => {
    const body = { ttl_seconds: Number(ttl) };
    const work = async () => api.sandboxes.update({ params: { id }, body });
    if (await acts.run(work, { done: text.extended, stale })) onClose();
  };
  return (
    <Dialog title={text.extend} onClose={onClose}>
      <div class="stack">
        <SelectField
          label={text.ttl}
          value={ttl}
          onInput={setTtl}
          options={Object.entries(text.ttls).map(([seconds, time]) => [seconds, text.extendFor(time)])}
        />
        <Button look="primary" onPress={extend}>
          {text.extend}
        </Button>
      </div>
    </Dialog>
  );
}
