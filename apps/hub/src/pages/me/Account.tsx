import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { api, signOut } from '../../api/client.ts';
import { forgetDrafts } from '../../api/drafts.ts';
import { fieldProblems } from '../../api/errors.ts';
import { tellSignedOut } from '../../api/live.ts';
import { type Me, useMe } from '../../api/me.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { chooseTheme, themeHere, type Theme } from '../../ui/theme.ts';
import { type Locale, loadWords, useWords } from '../../words/words.tsx';
import { uploader } from '../transcripts/uploader.ts';
import { PushOffer } from '../notifications/PushOffer.tsx';
import { Devices } from './Devices.tsx';
import { SignInWays } from './SignInWays.tsx';

/** The person's account: who they are, how they sign in, where they are signed in. */
export function Account() {
  const words = useWords();
  const answer = useMe();
  const acts = useActs();
  const leave = async (): Promise<void> => {
    await acts.forget();
    await uploader.clear();
    await signOut();
    forgetDrafts();
    tellSignedOut();
  };
  return (
    <Page title={words.me.title} acts={<Button onPress={leave}>{words.signOut}</Button>}>
      <Answered answer={answer}>
        {(me) => (
          <>
            <Profile me={me} key={me.account.id} />
            <PushOffer />
            <SignInWays me={me} />
            <Devices />
            <p>
              <Link href="/me/usage" class="button plain">
                {words.usage.link}
              </Link>
            </p>
            <Leave me={me} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function Profile({ me }: { me: Me }) {
  const words = useWords();
  const text = words.me;
  const acts = useActs();
  const { account } = me;
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [theme, setTheme] = useState<Theme>(themeHere);
  const [draft, setDraft] = useState({
    name: account.name,
    email: account.email,
    locale: account.locale ?? '',
    tz: account.tz ?? '',
  });
  const set = (name: keyof typeof draft) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  const save = async (): Promise<void> => {
    const saved = await acts.run(
      async () => {
        setProblems({});
        const body = {
          name: draft.name.trim() === '' ? null : draft.name.trim(),
          locale: draft.locale === '' ? null : (draft.locale as 'en'),
          tz: draft.tz === '' ? null : draft.tz,
          ...(draft.email !== account.email && { email: draft.email.trim() }),
        };
        try {
          return await api.me.update({ body });
        } catch (error) {
          setProblems(fieldProblems(error, words));
          throw error;
        }
      },
      { stale: ['me'] },
    );
    // In the language that was chosen with it.
    if (saved) acts.say((draft.locale === '' ? words : await loadWords(draft.locale as Locale)).me.saved);
  };
  return (
    <Section title={text.profile}>
      <form
        class="stack form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div class="pair">
          <TextField
            label={words.name}
            value={draft.name}
            onInput={set('name')}
            problem={problems['name']}
            autocomplete="name"
          />
          <TextField
            label={words.email}
            type="email"
            value={draft.email}
            onInput={set('email')}
            problem={problems['email']}
            autocomplete="email"
          />
        </div>
        <div class="pair">
          <SelectField
            label={words.language}
            value={draft.locale}
            onInput={set('locale')}
            options={[
              ['', words.languages.auto],
              ['en', words.languages.en],
              ['ro', words.languages.ro],
            ]}
          />
          <TextField
            label={text.tz}
            value={draft.tz}
            onInput={set('tz')}
            problem={problems['tz']}
            placeholder={Intl.DateTimeFormat().resolvedOptions().timeZone}
            list={Intl.supportedValuesOf('timeZone')}
          />
        </div>
        <SelectField
          label={text.theme}
          value={theme}
          onInput={(value) => {
            setTheme(value as Theme);
            chooseTheme(value as Theme);
          }}
          options={Object.entries(text.themes)}
        />
        <div>
          <Button look="primary" type="submit">
            {words.save}
          </Button>
        </div>
      </form>
    </Section>
  );
}

function Leave({ me }: { me: Me }) {
  const words = useWords();
  const acts = useActs();
  const [isOpen, setOpen] = useState(false);
  const { email } = me.account;
  return (
    <Section title={words.me.delete}>
      <div>
        <Button look="danger" onPress={() => setOpen(true)}>
          {words.me.delete}
        </Button>
      </div>
      {isOpen && (
        <DeleteDialog
          name={email}
          label={words.me.delete}
          text={words.me.deleteText(email)}
          onClose={() => setOpen(false)}
          onDelete={async () => {
            if (await acts.run(async () => api.me.remove())) {
              tellSignedOut();
            }
          }}
        />
      )}
    </Section>
  );
}
