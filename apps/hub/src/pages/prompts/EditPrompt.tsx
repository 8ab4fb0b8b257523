import { useState } from 'preact/hooks';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { localOf } from '../../ui/time.rules.ts';
import { useWords } from '../../words/words.tsx';
import { type PromptWhen, WhenFields } from './NewPrompt.tsx';
import { type PromptRecord, staleByPrompt } from './prompts.ts';

/** Changes when and where an open prompt is launched; its text the API keeps as it was written. */
export function EditPrompt({ item, onClose }: { item: PromptRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.prompts;
  const acts = useActs();
  const before: PromptWhen = {
    from: localOf(item.not_before),
    device: item.target_device_id ?? '',
    isAuto: item.auto_run,
  };
  const [draft, setDraft] = useState(before);
  const { from, device, isAuto } = draft;
  // A new instant arms one more reminder: what was not touched is not sent.
  const body = {
    ...(from !== before.from && { not_before: from === '' ? null : new Date(from).toISOString() }),
    ...(device !== before.device && { target_device_id: device === '' ? null : device }),
    ...(isAuto !== before.isAuto && { auto_run: isAuto }),
  };
  const save = async (): Promise<void> => {
    if (await acts.send('prompts.update', { params: { id: item.id }, body }, text.edited, staleByPrompt)) onClose();
  };
  return (
    <Dialog title={text.edit} onClose={onClose} wide>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <WhenFields value={draft} onChange={(change) => setDraft((all) => ({ ...all, ...change }))} />
        <p class="hint">{text.editHint}</p>
        <Button look="primary" type="submit" onPress={save} disabled={Object.keys(body).length === 0}>
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}
