import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { isAtLeast, type Role } from './environments.ts';

type Secret = Awaited<ReturnType<typeof api.environments.listSecrets>>['secrets'][number];
const stale = ['environments'];

/** Names of secrets. Their values come here to be sent, and are never shown or kept. */
export function Secrets({ id, role }: { id: string; role: Role }) {
  const words = useWords();
  const text = words.secrets;
  const [isSetting, setSetting] = useState(false);
  const { roles, needs, seeNeeds } = words.environments;
  const maySet = isAtLeast(role, 'maintainer');
  return (
    <Section
      title={text.title}
      acts={
        maySet ? (
          <Button icon="add" onPress={() => setSetting(true)}>
            {text.set}
          </Button>
        ) : (
          <p class="hint">
            {isAtLeast(role, 'developer')
              ? needs(roles.maintainer, roles[role])
              : seeNeeds(roles.developer, roles[role])}
          </p>
        )
      }
    >
      {isAtLeast(role, 'developer') && <SecretRows id={id} maySet={maySet} />}
      {isSetting && <SetSecret id={id} onClose={() => setSetting(false)} />}
    </Section>
  );
}

function SecretRows({ id, maySet }: { id: string; maySet: boolean }) {
  const words = useWords();
  const text = words.secrets;
  const answer = useAnswer(
    ['environments', id, 'secrets'],
    async () => (await api.environments.listSecrets({ params: { id } })).secrets,
  );
  return (
    <Answered answer={answer} rows={1}>
      {(secrets) =>
        secrets.length === 0 ? (
          <p class="hint">{text.none}</p>
        ) : (
          <ul class="rows" aria-label={text.title}>
            {secrets.map((secret) => (
              <li key={secret.name}>
                <SecretRow id={id} secret={secret} maySet={maySet} />
              </li>
            ))}
          </ul>
        )
      }
    </Answered>
  );
}

function SecretRow({ id, secret: { name, updated_at: at }, maySet }: { id: string; secret: Secret; maySet: boolean }) {
  const words = useWords();
  const text = words.secrets;
  const acts = useActs();
  const [open, setOpen] = useState<'set' | 'remove'>();
  const close = (): void => setOpen(undefined);
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          <code>{name}</code>
        </span>
        <span class="row-detail">
          {text.changed} <Time at={at} />
        </span>
      </span>
      {maySet && (
        <Menu
          label={words.moreActs}
          items={[
            { label: text.replace, act: () => setOpen('set') },
            { label: words.monitors.delete, act: () => setOpen('remove'), isDanger: true },
          ]}
        />
      )}
      {open === 'set' && <SetSecret id={id} name={name} onClose={close} />}
      {open === 'remove' && (
        <DeleteDialog
          name={name}
          text={words.monitors.deleteText(name)}
          onClose={close}
          onDelete={async () => {
            const work = async () => api.environments.removeSecret({ params: { id, name } });
            if (await acts.run(work, { done: text.removed, stale })) close();
          }}
        />
      )}
    </div>
  );
}

function SetSecret({ id, name: given, onClose }: { id: string; name?: string; onClose: () => void }) {
  const words = useWords();
  const text = words.secrets;
  const acts = useActs();
  const [name, setName] = useState(given ?? '');
  const [value, setValue] = useState('');
  const [problems, setProblems] = useState<Record<string, string>>({});
  const save = async (): Promise<void> => {
    setProblems({});
    const work = async () => {
      try {
        return await api.environments.setSecret({ params: { id, name: name.trim() }, body: { value } });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    const set = await acts.run(work, { stale });
    if (!set) return;
    acts.say(set.updated ? text.replaced : text.kept);
    onClose();
  };
  return (
    <Dialog title={given === undefined ? text.set : `${text.replace}: ${given}`} onClose={onClose}>
      <form
        class="stack"
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {given === undefined && (
          <TextField
            label={text.name}
            value={name}
            onInput={setName}
            hint={text.nameHint}
            problem={problems['name']}
            isCode
            required
          />
        )}
        <TextField
          label={text.value}
          value={value}
          onInput={setValue}
          rows={3}
          isSecret
          hint={text.valueHint}
          problem={problems['value']}
        />
        <Button look="primary" type="submit">
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}
