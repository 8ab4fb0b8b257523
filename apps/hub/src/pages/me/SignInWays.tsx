import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import type { Me } from '../../api/me.ts';
import { hasPasskeys, makePasskey } from '../../api/passkeys.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

const stale = ['me'];

/** Passkeys, password and recovery codes. */
export function SignInWays({ me }: { me: Me }) {
  const words = useWords();
  const text = words.me;
  const acts = useActs();
  const [open, setOpen] = useState<'password' | 'codes'>();
  const { password, recovery_codes_left: codes } = me.sign_in;
  const close = (): void => setOpen(undefined);
  return (
    <Section title={text.signIn}>
      <Passkeys />
      <div class="row padded boxed">
        <span class="row-main">
          <span class="row-title">{words.password}</span>
          <span class="row-detail">{password ? text.passwordSet : text.noPassword}</span>
        </span>
        <Button onPress={() => setOpen('password')}>{password ? text.changePassword : text.setPassword}</Button>
        {password && (
          <Button look="danger" onPress={() => acts.run(async () => api.me.removePassword(), { stale })}>
            {words.remove}
          </Button>
        )}
      </div>
      <div class="row padded boxed">
        <span class="row-main">
          <span class="row-title">{text.codes}</span>
          <span class="row-detail">{text.codesLeft(codes)}</span>
        </span>
        <Button onPress={() => setOpen('codes')}>{text.newCodes}</Button>
      </div>
      {open === 'password' && <PasswordDialog onClose={close} />}
      {open === 'codes' && <CodesDialog onClose={close} />}
    </Section>
  );
}

function Passkeys() {
  const words = useWords();
  const text = words.me;
  const acts = useActs();
  const answer = useAnswer(['me', 'passkeys'], async () => (await api.me.listPasskeys()).passkeys);
  const add = (): Promise<unknown> =>
    acts.run(
      async () => {
        const options = await api.me.passkeyOptions({});
        const made = await makePasskey(options).catch(() => undefined);
        if (made === undefined) return acts.say(words.reauth.noPasskey, { isProblem: true });
        await api.me.addPasskey({ body: { passkey: made, name: text.passkeyName(new Date().toLocaleDateString()) } });
        return acts.say(text.passkeyAdded);
      },
      { stale },
    );
  return (
    <>
      <Answered answer={answer} rows={1}>
        {(passkeys) =>
          passkeys.length > 0 && (
            <ul class="rows">
              {passkeys.map(({ id, name, last_used_at: used, backed_up: isBackedUp }) => (
                <li key={id} class="row padded">
                  <span class="row-main">
                    <span class="row-title">{name}</span>
                    <span class="row-detail">
                      {isBackedUp ? text.passkeySynced : text.passkeyHere} · {words.keys.lastUsed}{' '}
                      {used === undefined ? words.never : <Time at={used} />}
                    </span>
                  </span>
                  <Button
                    look="danger"
                    onPress={() => acts.run(async () => api.me.removePasskey({ params: { id } }), { stale })}
                  >
                    {words.remove}
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
      <div>
        {hasPasskeys() ? (
          <Button icon="keys" onPress={add}>
            {text.addPasskey}
          </Button>
        ) : (
          <p class="hint">{text.noPasskeysHere}</p>
        )}
      </div>
    </>
  );
}

function PasswordDialog({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const acts = useActs();
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<string>();
  const save = async (): Promise<void> => {
    const saved = await acts.run(
      async () => {
        try {
          return await api.me.setPassword({ body: { password } });
        } catch (error) {
          setProblem(fieldProblems(error, words)['password']);
          throw error;
        }
      },
      { done: words.me.passwordChanged, stale },
    );
    if (saved) onClose();
  };
  return (
    <Dialog title={words.me.setPassword} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label={words.me.newPassword}
          type="password"
          autocomplete="new-password"
          value={password}
          onInput={setPassword}
          problem={problem}
          hint={words.me.passwordHint}
        />
        <Button look="primary" type="submit">
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}

function CodesDialog({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.me;
  const acts = useActs();
  const [codes, setCodes] = useState<string[]>();
  const make = async (): Promise<void> => {
    const made = await acts.run(async () => api.me.makeRecoveryCodes({}), { stale });
    if (made) setCodes(made.codes);
  };
  return (
    <Dialog title={text.codes} onClose={onClose}>
      {codes === undefined ? (
        <div class="stack">
          <p>{text.codesWhy}</p>
          <Button look="primary" onPress={make}>
            {text.newCodes}
          </Button>
        </div>
      ) : (
        <div class="stack">
          <p>{text.codesOnce}</p>
          <ol class="codes">
            {codes.map((code) => (
              <li key={code}>
                <code>{code}</code>
              </li>
            ))}
          </ol>
          <div class="pair">
            <CopyButton text={codes.join('\n')} />
            <a
              class="button plain"
              download="svc-recovery-codes.txt"
              href={`data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\n')}\n`)}`}
            >
              {words.sandboxes.download}
            </a>
            <Button onPress={() => print()}>{text.print}</Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
