import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { isAtLeast, type Port, type Role, stale } from './environments.ts';

/** What the form of a port holds. */
export interface PortDraft {
  port: string;
  label: string;
  visibility: Port['visibility'];
}

/** Publishes a port, or changes who reaches it. */
export function PublishPort({
  id,
  role,
  given,
  onClose,
}: {
  id: string;
  role: Role;
  given: Partial<PortDraft>;
  onClose: () => void;
}) {
  const words = useWords();
  const text = words.ports;
  const acts = useActs();
  const [draft, setDraft] = useState<PortDraft>({ port: '3000', label: '', visibility: 'owner', ...given });
  const [problems, setProblems] = useState<Record<string, string>>({});
  const set = (name: keyof PortDraft) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  const mayAll = isAtLeast(role, 'maintainer');
  const options = Object.entries(text.visibilities).filter(([value]) => value !== 'public' || mayAll);
  const publish = async (): Promise<void> => {
    setProblems({});
    const body = { visibility: draft.visibility, label: draft.label.trim() === '' ? null : draft.label.trim() };
    const work = async () => {
      try {
        return await api.environments.publishPort({ params: { id, port: Number(draft.port) }, body });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    if (await acts.run(work, { done: text.published, stale })) onClose();
  };
  return (
    <Dialog title={given.visibility === undefined ? text.publish : text.change} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void publish();
        }}
      >
        <div class="pair">
          <TextField
            label={text.port}
            type="number"
            value={draft.port}
            onInput={set('port')}
            problem={problems['port']}
            required
          />
          <TextField label={text.label} value={draft.label} onInput={set('label')} problem={problems['label']} />
        </div>
        <SelectField
          label={text.visibility}
          value={draft.visibility}
          onInput={set('visibility')}
          options={options}
          problem={problems['visibility']}
          hint={mayAll ? undefined : text.publicNeeds(words.environments.roles.maintainer)}
        />
        <Button look="primary" type="submit">
          {text.publishOne}
        </Button>
      </form>
    </Dialog>
  );
}
