import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { useWords } from '../../words/words.tsx';
import { Enrol } from './Enrol.tsx';
import { type EnvironmentRecord, isAtLeast, stale, type Whole } from './environments.ts';

/** States in which a machine of one's own may be enrolled, and those that a move may begin in. */
const enrollable: readonly EnvironmentRecord['state'][] = ['pending', 'enrolling', 'running', 'starting', 'archived'];
const archivable: readonly EnvironmentRecord['state'][] = ['pending', 'enrolling', 'running', 'stopped'];
const gone: readonly EnvironmentRecord['state'][] = ['destroying', 'destroyed'];

/** Enrol, start, stop, change, archive and destroy: those that the person's role and the state allow. */
export function EnvironmentActs({ whole: { environment, role } }: { whole: Whole }) {
  const words = useWords();
  const text = words.environments;
  const acts = useActs();
  const [, go] = useLocation();
  const [open, setOpen] = useState<'enrol' | 'edit' | 'archive' | 'destroy'>();
  const { id, name, state, provider } = environment;
  const params = { id };
  const close = (): void => setOpen(undefined);
  if (gone.includes(state)) return null;
  if (!isAtLeast(role, 'maintainer'))
    return <p class="hint">{text.actsNeed(text.roles.maintainer, text.roles[role])}</p>;
  const isOwn = provider === 'byo';
  const canStart = !isOwn && (state === 'stopped' || state === 'archived');
  return (
    <>
      {isOwn && enrollable.includes(state) && (
        <Button look={state === 'pending' ? 'primary' : 'plain'} onPress={() => setOpen('enrol')}>
          {words.enrolment.act}
        </Button>
      )}
      {canStart && (
        <Button
          look="primary"
          icon="play"
          onPress={() => acts.run(async () => api.environments.start({ params }), { done: text.started, stale })}
        >
          {text.start}
        </Button>
      )}
      {!isOwn && state === 'running' && (
        <Button
          icon="pause"
          onPress={() => acts.run(async () => api.environments.stop({ params }), { done: text.stopped, stale })}
        >
          {text.stop}
        </Button>
      )}
      <Menu
        label={words.moreActs}
        items={[
          { label: text.edit, act: () => setOpen('edit') },
          ...(archivable.includes(state) ? [{ label: text.archive, act: () => setOpen('archive') }] : []),
          ...(role === 'owner' ? [{ label: text.destroy, act: () => setOpen('destroy'), isDanger: true }] : []),
        ]}
      />
      {open === 'enrol' && <Enrol id={id} onClose={close} />}
      {open === 'edit' && <Edit environment={environment} onClose={close} />}
      {open === 'archive' && <Archive id={id} onClose={close} />}
      {open === 'destroy' && (
        <DeleteDialog
          name={name}
          label={text.destroy}
          text={text.destroyText(name)}
          onClose={close}
          onDelete={async () => {
            const work = async () => api.environments.destroy({ params });
            if (await acts.run(work, { done: text.destroyed, stale })) go('/environments');
          }}
        />
      )}
    </>
  );
}

function Archive({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useWords().environments;
  const acts = useActs();
  const archive = async (): Promise<void> => {
    const work = async () => api.environments.archive({ params: { id } });
    if (await acts.run(work, { done: text.archived, stale })) onClose();
  };
  return (
    <Dialog title={text.archive} onClose={onClose}>
      <div class="stack">
        <p>{text.archiveText}</p>
        <Button look="primary" onPress={archive}>
          {text.archive}
        </Button>
      </div>
    </Dialog>
  );
}

function Edit({ environment, onClose }: { environment: EnvironmentRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.environments;
  const acts = useActs();
  const [name, setName] = useState(environment.name);
  const [idle, setIdle] = useState(String(environment.idleTimeoutMinutes));
  const [problems, setProblems] = useState<Record<string, string>>({});
  const save = async (): Promise<void> => {
    setProblems({});
    const body = { name: name.trim(), idle_timeout_minutes: Number(idle) };
    const work = async () => {
      try {
        return await api.environments.update({ params: { id: environment.id }, body });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    if (await acts.run(work, { done: text.saved, stale })) onClose();
  };
  return (
    <Dialog title={text.edit} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField label={words.name} value={name} onInput={setName} problem={problems['name']} required />
        <TextField
          label={text.idle}
          type="number"
          value={idle}
          onInput={setIdle}
          problem={problems['idle_timeout_minutes']}
        />
        <Button look="primary" type="submit">
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}
