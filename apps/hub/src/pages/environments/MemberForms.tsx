import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords, type Words } from '../../words/words.tsx';
import { type Member, type Role, roles, stale } from './environments.ts';

/** Roles that somebody may give: owners give every one, maintainers all but that. */
const given = (role: Role, words: Words): [string, string][] =>
  roles
    .filter((one) => one !== 'owner' || role === 'owner')
    .map((one) => [one, `${words.environments.roles[one]}: ${words.members.may[one]}`]);

/** Gives somebody who has an account here a role. */
export function AddMember({ id, role, onClose }: { id: string; role: Role; onClose: () => void }) {
  const words = useWords();
  const text = words.members;
  const acts = useActs();
  const [email, setEmail] = useState('');
  const [wanted, setWanted] = useState<Role>('developer');
  const [problems, setProblems] = useState<Record<string, string>>({});
  const add = async (): Promise<void> => {
    setProblems({});
    const work = async () => {
      try {
        return await api.environments.addMember({ params: { id }, body: { email: email.trim(), role: wanted } });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    if (await acts.run(work, { done: text.added, stale })) onClose();
  };
  return (
    <Dialog title={text.add} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField
          label={words.email}
          type="email"
          value={email}
          onInput={setEmail}
          hint={text.addText}
          problem={problems['email']}
          required
        />
        <SelectField
          label={text.role}
          value={wanted}
          onInput={(value) => setWanted(value as Role)}
          options={given(role, words)}
        />
        <Button look="primary" type="submit">
          {text.add}
        </Button>
      </form>
    </Dialog>
  );
}

/** Gives a member another role. */
export function ChangeRole({
  id,
  member,
  role,
  onClose,
}: {
  id: string;
  member: Member;
  role: Role;
  onClose: () => void;
}) {
  const words = useWords();
  const text = words.members;
  const acts = useActs();
  const [wanted, setWanted] = useState<Role>(member.role);
  const change = async (): Promise<void> => {
    const work = async () =>
      api.environments.updateMember({ params: { id, userId: member.user_id }, body: { role: wanted } });
    if (await acts.run(work, { done: text.changed, stale })) onClose();
  };
  return (
    <Dialog title={text.change} onClose={onClose}>
      <div class="stack">
        <p>
          <bdi>{member.email}</bdi>
        </p>
        <SelectField
          label={text.role}
          value={wanted}
          onInput={(value) => setWanted(value as Role)}
          options={given(role, words)}
        />
        <Button look="primary" onPress={change}>
          {words.save}
        </Button>
      </div>
    </Dialog>
  );
}

/** Sets the public key with which the person comes in. */
export function SshKey({ id, onClose }: { id: string; onClose: () => void }) {
  const words = useWords();
  const text = words.members;
  const acts = useActs();
  const [key, setKey] = useState('');
  const [problems, setProblems] = useState<Record<string, string>>({});
  const save = async (): Promise<void> => {
    setProblems({});
    const work = async () => {
      try {
        return await api.environments.setSshKey({ params: { id }, body: { public_key: key.trim() } });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    if (await acts.run(work, { done: text.sshKeySet, stale })) onClose();
  };
  return (
    <Dialog title={text.sshKey} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label={text.sshKey}
          value={key}
          onInput={setKey}
          rows={4}
          hint={text.sshKeyText}
          problem={problems['public_key']}
          isCode
          required
        />
        <Button look="primary" type="submit">
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}
