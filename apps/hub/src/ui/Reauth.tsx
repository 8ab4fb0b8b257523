import { useState } from 'preact/hooks';
import { api, failureOf } from '../api/client.ts';
import { problemOf } from '../api/errors.ts';
import { askPasskey, hasPasskeys } from '../api/passkeys.ts';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';
import { Dialog } from './Dialog.tsx';
import { TextField } from './Field.tsx';

/** Asks who is signed in to prove it again; `onEnd` says whether they did. */
export function Reauth({ onEnd }: { onEnd: (isGiven: boolean) => void }) {
  const words = useWords();
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<string>();
  const prove = async (
    proof: () => Promise<{ password?: string; passkey?: Record<string, unknown> }>,
  ): Promise<void> => {
    try {
      await api.me.reauth({ body: await proof() });
      onEnd(true);
    } catch (error) {
      setProblem(failureOf(error) ? problemOf(error, words).text : words.reauth.noPasskey);
    }
  };
  return (
    <Dialog title={words.reauth.title} onClose={() => onEnd(false)}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void prove(() => Promise.resolve({ password }));
        }}
      >
        <p class="hint">{words.reauth.why}</p>
        <TextField
          label={words.password}
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={setPassword}
          problem={problem}
        />
        <div class="pair">
          <Button look="primary" type="submit">
            {words.continue}
          </Button>
          {hasPasskeys() && (
            <Button
              icon="keys"
              onPress={() => prove(async () => ({ passkey: await askPasskey(await api.me.reauthOptions({})) }))}
            >
              {words.reauth.passkey}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
