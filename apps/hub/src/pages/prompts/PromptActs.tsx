import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { done, type Outcome, unknown } from '../../ui/outcomes.ts';
import { useWords } from '../../words/words.tsx';
import { EditPrompt } from './EditPrompt.tsx';
import { NewPrompt } from './NewPrompt.tsx';
import { isOpen, type PromptRecord, staleByPrompt as stale } from './prompts.ts';

type Launched = Awaited<ReturnType<typeof api.prompts.launch>>;

const dayMs = 86_400_000;
const judgeMs = 180_000;
const shownOfId = 8;

/** Launch, done, edit, snooze, judge, dismiss, write anew and delete. */
export function PromptActs({ prompt }: { prompt: PromptRecord }) {
  const words = useWords();
  const text = words.prompts;
  const acts = useActs();
  const [open, setOpen] = useState<'edit' | 'anew' | 'delete'>();
  const close = (): void => setOpen(undefined);
  const { id, status, match_ref: matched, run_session_id: session } = prompt;
  const params = { id };
  const set = (next: 'done' | 'dismissed', said: string): Promise<unknown> =>
    acts.send('prompts.update', { params, body: { status: next } }, said, stale);
  const snooze = (ms: number): Promise<unknown> =>
    acts.send(
      'prompts.update',
      { params, body: { not_before: new Date(Date.now() + ms).toISOString() } },
      text.snoozed,
      stale,
    );
  const launched = ({ prompt: { waiting_for: waits } }: Launched): Outcome =>
    waits === undefined ? done(text.launched) : unknown(text.launchWaits(waits));
  const launch = (): Promise<unknown> =>
    acts.run(async () => api.prompts.launch({ params, body: {} }), { done: launched, stale });
  const judge = async (): Promise<unknown> => {
    const call = { timeoutMs: judgeMs };
    return acts.run(async () => api.prompts.verify({ params, body: {} }, call), { done: text.judged, stale });
  };
  return (
    <>
      {status === 'open' && (
        <Button look="primary" icon="play" onPress={launch}>
          {text.launch}
        </Button>
      )}
      {isOpen(prompt) && (
        <Button icon="check" onPress={() => set('done', text.markedDone)}>
          {text.markDone}
        </Button>
      )}
      <Menu
        label={words.moreActs}
        items={[
          ...(status === 'open'
            ? [
                { label: text.edit, act: () => setOpen('edit') },
                { label: text.snoozeDay, act: () => snooze(dayMs) },
                { label: text.snoozeWeek, act: () => snooze(7 * dayMs) },
              ]
            : []),
          ...((matched ?? session) === undefined ? [] : [{ label: text.judge, act: judge }]),
          { label: text.anew, act: () => setOpen('anew') },
          ...(isOpen(prompt) ? [{ label: text.dismiss, act: () => set('dismissed', text.dismissed) }] : []),
          { label: text.delete, act: () => setOpen('delete'), isDanger: true },
        ]}
      />
      {open === 'edit' && <EditPrompt item={prompt} onClose={close} />}
      {open === 'anew' && <NewPrompt given={prompt} onClose={close} />}
      {open === 'delete' && <Delete id={id} onClose={close} />}
    </>
  );
}

/** A prompt has no name: the beginning of its id stands for it. */
function Delete({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useWords().prompts;
  const acts = useActs();
  const [, go] = useLocation();
  const name = id.slice(0, shownOfId);
  return (
    <DeleteDialog
      name={name}
      label={text.delete}
      text={text.deleteText(name)}
      onClose={onClose}
      onDelete={async () => {
        const work = async () => api.prompts.remove({ params: { id } });
        if (await acts.run(work, { done: text.deleted, stale })) go('/prompts');
      }}
    />
  );
}
