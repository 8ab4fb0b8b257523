import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { isLoopback } from '../../api/loopback.ts';
import { useMe } from '../../api/me.ts';
import { useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Rows } from '../../ui/List.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Person = Awaited<ReturnType<typeof api.accounts.list>>['accounts'][number];
const stale = ['accounts'];

/** Accounts of this installation, and what their operator may do with them. */
export function People() {
  const words = useWords();
  const text = words.system;
  const [isNew, setNew] = useState(false);
  const answer = useRows<Person>(['accounts', 'list'], async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { accounts, next_cursor: next } = await api.accounts.list({ query });
    return { rows: accounts, next };
  });
  return (
    <Section
      title={text.people}
      acts={
        <Button icon="add" onPress={() => setNew(true)}>
          {text.invite}
        </Button>
      }
    >
      <Rows
        answer={answer}
        label={text.people}
        row={(person) => <PersonRow person={person} />}
        empty={<Empty>{text.nobody}</Empty>}
      />
      {isNew && <Invite onClose={() => setNew(false)} />}
    </Section>
  );
}

function PersonRow({ person }: { person: Person }) {
  const text = useWords().system;
  const { data: me } = useMe();
  const { id, email, name, operator, suspended, last_seen_at: seen } = person;
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">{name === '' ? email : name}</span>
        <span class="row-detail">
          {name !== '' && `${email} · `}
          {seen === undefined ? (
            text.nowhereSignedIn
          ) : (
            <>
              {text.lastSeen} <Time at={seen} />
            </>
          )}
        </span>
      </span>
      {operator && <span class="tag">{text.operator}</span>}
      <Status tone={suspended ? 'bad' : seen === undefined ? 'rest' : 'good'}>
        {suspended ? text.suspended : seen === undefined ? text.notSignedIn : text.active}
      </Status>
      {me?.account.id !== id && <PersonActs person={person} />}
    </div>
  );
}

function PersonActs({ person }: { person: Person }) {
  const words = useWords();
  const text = words.system;
  const acts = useActs();
  const [isSuspending, setSuspending] = useState(false);
  const [link, setLink] = useState<string>();
  const { id, email, operator, suspended } = person;
  const params = { id };
  const set = (body: { suspended?: boolean; operator?: boolean }, done: string): Promise<unknown> =>
    acts.run(async () => api.accounts.update({ params, body }), { done, stale });
  const makeLink = async (): Promise<void> => {
    const made = await acts.run(async () => api.accounts.link({ params }));
    if (made) setLink(made.url);
  };
  const signOut = async (): Promise<void> => {
    const ended = await acts.run(async () => api.accounts.signOut({ params }), { stale });
    if (ended) acts.say(text.signedOut(ended.ended));
  };
  return (
    <>
      <Menu
        label={words.moreActs}
        items={[
          { label: text.newLink, act: makeLink },
          { label: text.signOutAll, act: signOut },
          operator
            ? { label: text.unmakeOperator, act: () => set({ operator: false }, text.noOperatorDone) }
            : { label: text.makeOperator, act: () => set({ operator: true }, text.operatorDone) },
          suspended
            ? { label: text.resume, act: () => set({ suspended: false }, text.resumedDone) }
            : { label: text.suspend, act: () => setSuspending(true), isDanger: true },
        ]}
      />
      {link !== undefined && (
        <Dialog title={text.newLink} onClose={() => setLink(undefined)} wide>
          <LinkOnce url={link} />
        </Dialog>
      )}
      {isSuspending && (
        <DeleteDialog
          name={email}
          label={text.suspend}
          text={text.suspendText(email)}
          onClose={() => setSuspending(false)}
          onDelete={async () => {
            if (await set({ suspended: true }, text.suspendedDone)) setSuspending(false);
          }}
        />
      )}
    </>
  );
}

const LinkOnce = ({ url }: { url: string }) => {
  const text = useWords().system;
  return (
    <div class="stack">
      <p>{text.linkOnce}</p>
      {isLoopback(url) && <p class="box note">{text.loopback(new URL(url).origin)}</p>}
      <CopyText text={url} />
    </div>
  );
};

function Invite({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.system;
  const acts = useActs();
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [url, setUrl] = useState<string>();
  const create = async (): Promise<void> => {
    setProblems({});
    const made = await acts.run(
      async () => {
        try {
          return await api.accounts.create({ body: { email: email.trim(), name: name.trim() } });
        } catch (error) {
          setProblems(fieldProblems(error, words));
          throw error;
        }
      },
      { stale },
    );
    if (made) setUrl(made.url);
  };
  return (
    <Dialog title={text.invite} onClose={onClose} wide>
      {url !== undefined ? (
        <LinkOnce url={url} />
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <p>{text.inviteText}</p>
          <TextField
            label={words.email}
            type="email"
            value={email}
            onInput={setEmail}
            problem={problems['email']}
            required
          />
          <TextField label={words.name} value={name} onInput={setName} problem={problems['name']} />
          <Button look="primary" type="submit">
            {words.create}
          </Button>
        </form>
      )}
    </Dialog>
  );
}
