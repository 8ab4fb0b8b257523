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

/** Keeps a prompt for later; without a network it is stored here and goes once there is one. */
export function NewPrompt({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const text = words.prompts;
  const acts = useActs();
  const [draft, setDraft, forget] = useDraft('prompt', empty);
  const devices = useAnswer(['devices'], async () => (await api.devices.list({ query: { limit: 100 } })).devices);
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
        <TextField label={text.prompt} rows={6} value={prompt} onInput={(value) => set({ prompt: value })} required />
        <div class="pair">
          <TextField
            label={text.notBefore}
            type="datetime-local"
            value={from}
            onInput={(value) => set({ from: value })}
          />
          <SelectField
            label={text.device}
            value={device}
            onInput={(value) => set({ device: value })}
            options={[['', text.anyDevice], ...(devices.data ?? []).map(({ id, name }) => [id, name] as const)]}
          />
        </div>
        <CheckField label={text.autoRun} checked={isAuto} onChange={(value) => set({ isAuto: value })} />
        <Button look="primary" type="submit" onPress={create} disabled={prompt.trim() === ''}>
          {words.create}
        </Button>
      </form>
    </Dialog>
  );
}
