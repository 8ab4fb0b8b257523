import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { localOf } from '../../ui/time.rules.ts';
import { useWords } from '../../words/words.tsx';
import { type KeyRecord, staleByKey as stale } from './keys.ts';
import { ScopeChoice } from './NewKey.tsx';

const microUsd = 1_000_000;
const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Renames a key, and changes what it may do, spend and until when. */
export function EditKey({ item, onClose }: { item: KeyRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.oneKey;
  const acts = useActs();
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [scopes, setScopes] = useState<string[]>(item.scopes);
  const [draft, setDraft] = useState({
    name: item.name,
    level: item.tool_level,
    models: item.models?.join(', ') ?? '',
    cap: item.spend_cap_micro_usd === undefined ? '' : String(item.spend_cap_micro_usd / microUsd),
    ends: localOf(item.expires_at),
  });
  const set = (name: keyof typeof draft) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  const save = async (): Promise<void> => {
    setProblems({});
    const models = listOf(draft.models);
    const body = {
      name: draft.name.trim() === '' ? null : draft.name.trim(),
      models: models.length === 0 ? null : models,
      spend_cap_micro_usd: draft.cap.trim() === '' ? null : Math.round(Number(draft.cap) * microUsd),
      // What was not touched stays as it is, to the second.
      ...(draft.ends !== localOf(item.expires_at) && {
        expires_at: draft.ends === '' ? null : new Date(draft.ends).toISOString(),
      }),
      ...(draft.level !== item.tool_level && { tool_level: draft.level }),
      ...(scopes.join() !== item.scopes.join() && { scopes: scopes as 'heartbeats'[] }),
    };
    const work = async () => {
      try {
        return await api.keys.update({ params: { id: item.id }, body });
      } catch (error) {
        setProblems(fieldProblems(error, words));
        throw error;
      }
    };
    if (await acts.run(work, { done: text.saved, stale })) onClose();
  };
  return (
    <Dialog title={text.edit} onClose={onClose} wide>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField label={words.name} value={draft.name} onInput={set('name')} problem={problems['name']} />
        <KeyLimits draft={draft} set={set} problems={problems} />
        <details>
          <summary>{words.keys.preset}</summary>
          <ScopeChoice chosen={scopes} onChange={setScopes} />
          {problems['scopes'] !== undefined && <p class="problem">{problems['scopes']}</p>}
        </details>
        <Button look="primary" type="submit" disabled={scopes.length === 0}>
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}

interface Limits {
  level: string;
  models: string;
  cap: string;
  ends: string;
}

function KeyLimits({
  draft,
  set,
  problems,
}: {
  draft: Limits;
  set: (name: keyof Limits) => (value: string) => void;
  problems: Record<string, string>;
}) {
  const text = useWords().oneKey;
  return (
    <>
      <div class="pair">
        <TextField
          label={text.ends}
          type="datetime-local"
          value={draft.ends}
          onInput={set('ends')}
          hint={text.endsHint}
          problem={problems['expires_at']}
        />
        <TextField
          label={text.cap}
          type="number"
          step="any"
          value={draft.cap}
          onInput={set('cap')}
          hint={text.capHint}
          problem={problems['spend_cap_micro_usd']}
        />
      </div>
      <TextField
        label={text.models}
        value={draft.models}
        onInput={set('models')}
        hint={text.modelsHint}
        problem={problems['models']}
        isCode
      />
      <SelectField
        label={text.level}
        value={draft.level}
        onInput={set('level')}
        options={Object.entries(text.levels)}
        problem={problems['tool_level']}
      />
    </>
  );
}
