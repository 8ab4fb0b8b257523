import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { bodyOf, draftOf, staleByWebhook as stale, type WebhookDraft, type WebhookRecord } from './webhooks.ts';

/** Makes a webhook and shows its secret once, or changes one. Its address and headers may be secret: they are no draft. */
export function WebhookForm({ hook, onClose }: { hook?: WebhookRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.hooks;
  const acts = useActs();
  const [draft, setDraft] = useState(() => draftOf(hook));
  const [secret, setSecret] = useState<string>();
  const [problems, setProblems] = useState<Record<string, string>>({});
  const save = async (): Promise<void> => {
    setProblems({});
    const body = bodyOf(draft);
    const work = async () => {
      try {
        if (hook) return await api.notifications.updateWebhook({ params: { id: hook.id }, body });
        return await api.notifications.createWebhook({ body });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    const saved = await acts.run(work, { done: hook ? text.saved : text.made, stale });
    if (!saved) return;
    if ('secret' in saved && typeof saved.secret === 'string') setSecret(saved.secret);
    else onClose();
  };
  return (
    <Dialog title={hook ? text.edit : text.add} onClose={onClose} wide>
      {secret !== undefined ? (
        <Secret secret={secret} />
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          <Fields draft={draft} onDraft={setDraft} problems={problems} />
          <Button look="primary" type="submit">
            {hook ? words.save : words.create}
          </Button>
        </form>
      )}
    </Dialog>
  );
}

function Fields({
  draft,
  onDraft,
  problems,
}: {
  draft: WebhookDraft;
  onDraft: (change: (before: WebhookDraft) => WebhookDraft) => void;
  problems: Record<string, string>;
}) {
  const words = useWords();
  const text = words.hooks;
  const set = (name: keyof WebhookDraft) => (value: string) => onDraft((before) => ({ ...before, [name]: value }));
  return (
    <>
      <TextField label={words.name} value={draft.name} onInput={set('name')} problem={problems['name']} required />
      <TextField
        label={text.url}
        value={draft.url}
        onInput={set('url')}
        hint={text.urlHint}
        problem={problems['url']}
        isCode
        required
      />
      <SelectField
        label={text.format}
        value={draft.format}
        onInput={set('format')}
        options={Object.entries(text.formats)}
        problem={problems['format']}
      />
      <TextField
        label={text.types}
        value={draft.types}
        onInput={set('types')}
        hint={text.typesHint}
        problem={problems['types']}
        isCode
      />
      <TextField
        label={text.headers}
        value={draft.headers}
        onInput={set('headers')}
        hint={text.headersHint}
        problem={problems['headers']}
        rows={2}
        isCode
      />
    </>
  );
}

/** Makes another secret for a webhook, and shows it once. */
export function RotateSecret({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useWords().hooks;
  const acts = useActs();
  const [secret, setSecret] = useState<string>();
  const rotate = async (): Promise<void> => {
    const made = await acts.run(async () => api.notifications.rotateWebhookSecret({ params: { id } }), { stale });
    if (made) setSecret(made.secret);
  };
  return (
    <Dialog title={text.rotate} onClose={onClose} wide>
      {secret !== undefined ? (
        <Secret secret={secret} />
      ) : (
        <div class="stack">
          <p>{text.rotateText}</p>
          <Button look="primary" onPress={rotate}>
            {text.rotate}
          </Button>
        </div>
      )}
    </Dialog>
  );
}

const Secret = ({ secret }: { secret: string }) => (
  <div class="stack">
    <p>{useWords().hooks.secretOnce}</p>
    <CopyText text={secret} />
  </div>
);
