import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { useDraft } from '../../ui/draft.ts';
import { CheckField, SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { staleByPrompt } from './prompts.ts';

const empty = { prompt: '', from: '', isAuto: false, device: '' };

/** When a prompt is launched, and where. */
export interface PromptWhen {
  from: string;
  device: string;
  isAuto: boolean;
}

/** The fields of when and where. */
export function WhenFields({
  value,
  onChange,
}: {
  value: PromptWhen;
  onChange: (change: Partial<PromptWhen>) => void;
}) {
  const text = useWords().prompts;
  const devices = useAnswer(['devices'], async () => (await api.devices.list({ query: { limit: 100 } })).devices);
  return (
    <>
      <div class="pair">
        <TextField
          label={text.notBefore}
          type="datetime-local"
          value={value.from}
          onInput={(from) => onChange({ from })}
        />
        <SelectField
          label={text.device}
          value={value.device}
          onInput={(device) => onChange({ device })}
          options={[['', text.anyDevice], ...(devices.data ?? []).map(({ id, name }) => [id, name] as const)]}
        />
      </div>
      <CheckField label={text.autoRun} checked={value.isAuto} onChange={(isAuto) => onChange({ isAuto })} />
    </>
  );
}

/**
 * Keeps a prompt for later; without a network it is stored here and goes once there is one. `given` is the one whose text
 * it begins with.
 */
export function NewPrompt({ given, onClose }: { given?: { id: string; prompt: string }; onClose: () => void }) {
  const words = useWords();
  const text = words.prompts;
  const acts = useActs();
  const [draft, setDraft, forget] = useDraft(
    given ? `prompt.${given.id}` : 'prompt',
    given ? { ...empty, prompt: given.prompt } : empty,
  );
  const set = (change: Partial<typeof empty>): void => setDraft((before) => ({ ...before, ...change }));
  const { prompt, from, isAuto, device } = draft;
  const create = async (): Promise<void> => {
    const body = {
      prompt,
      source: 'hub',
      auto_run: isAuto,
      ...(from !== '' && { not_before: new Date(from).toISOString() }),
      ...(device !== '' && { target_device_id: device }),
    };
    if (!(await acts.send('prompts.create', { body }, text.kept, staleByPrompt))) return;
    forget();
    onClose();
  };
  return (
    <Dialog title={text.new} onClose={onClose} wide>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label={text.prompt}
          rows={6}
          value={prompt}
          onInput={(value) => set({ prompt: value })}
          hint={given && text.anewHint}
          required
        />
        <WhenFields value={draft} onChange={set} />
        {/* A text that is kept already is one prompt, whatever its state. */}
        <Button
          look="primary"
          type="submit"
          onPress={create}
          disabled={prompt.trim() === '' || prompt.trim() === given?.prompt.trim()}
        >
          {words.create}
        </Button>
      </form>
    </Dialog>
  );
}
