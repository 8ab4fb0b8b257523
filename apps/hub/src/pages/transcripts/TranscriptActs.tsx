import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { useWords } from '../../words/words.tsx';
import { useFolders } from './Folders.tsx';
import { Shares } from './Shares.tsx';
import { folderOptions, stale, type TranscriptRecord } from './transcripts.ts';

const formats = ['md', 'txt', 'srt', 'vtt', 'json', 'pdf', 'docx'] as const;
type Open = 'rename' | 'move' | 'export' | 'share' | 'delete';

/** Share, export, rename, pin, move, write anew and delete. */
export function TranscriptActs({ transcript }: { transcript: TranscriptRecord }) {
  const words = useWords();
  const text = words.transcripts;
  const acts = useActs();
  const [, go] = useLocation();
  const [open, setOpen] = useState<Open>();
  const { id, title, status, pinned_at: pinned, audio_purged_at: purged, utterances } = transcript;
  const params = { id };
  const close = (): void => setOpen(undefined);
  const isOver = status === 'ready' || status === 'failed';
  const hasText = utterances.length > 0;
  const pin = (isPinned: boolean): Promise<unknown> =>
    acts.run(async () => api.transcripts.update({ params, body: { pinned: isPinned } }), {
      done: isPinned ? text.pinnedDone : text.unpinnedDone,
      stale,
    });
  const again = (verb: 'retranscribe' | 'reanalyze', done: string) => () =>
    acts.run(async () => api.transcripts[verb]({ params }), { done, stale });
  return (
    <>
      <Button icon="connections" onPress={() => setOpen('share')}>
        {text.share}
      </Button>
      <Menu
        label={words.moreActs}
        items={[
          { label: text.rename, act: () => setOpen('rename') },
          ...(hasText ? [{ label: text.export, act: () => setOpen('export') }] : []),
          { label: text.move, act: () => setOpen('move') },
          { label: pinned === null ? text.pin : text.unpin, act: () => pin(pinned === null) },
          ...(isOver && hasText ? [{ label: text.reanalyze, act: again('reanalyze', text.reanalyzed) }] : []),
          ...(isOver && purged === null
            ? [{ label: text.retranscribe, act: again('retranscribe', text.retranscribed) }]
            : []),
          { label: text.delete, act: () => setOpen('delete'), isDanger: true },
        ]}
      />
      {open === 'rename' && <Rename transcript={transcript} onClose={close} />}
      {open === 'move' && <Move transcript={transcript} onClose={close} />}
      {open === 'export' && <Export id={id} onClose={close} />}
      {open === 'share' && <Shares id={id} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog
          name={title}
          label={text.delete}
          text={text.deleteText(title)}
          onClose={close}
          onDelete={async () => {
            const gone = await acts.run(async () => api.transcripts.remove({ params }), { done: text.deleted, stale });
            if (gone) go('/transcripts');
          }}
        />
      )}
    </>
  );
}

function Rename({ transcript: { id, title }, onClose }: { transcript: TranscriptRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.transcripts;
  const acts = useActs();
  const [name, setName] = useState(title);
  const save = async (): Promise<void> => {
    // Empty: the title that the summary gives it.
    const body = { title: name.trim() === '' ? null : name.trim() };
    const work = async () => api.transcripts.update({ params: { id }, body });
    if (await acts.run(work, { done: text.renamed, stale })) onClose();
  };
  return (
    <Dialog title={text.rename} onClose={onClose}>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label={text.titleField}
          value={name}
          onInput={(value) => setName(value.slice(0, 300))}
          hint={text.titleHint}
        />
        <Button look="primary" type="submit" onPress={save}>
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}

function Move({ transcript, onClose }: { transcript: TranscriptRecord; onClose: () => void }) {
  const words = useWords();
  const text = words.transcripts;
  const acts = useActs();
  const { id, folder_id: before } = transcript;
  const folders = useFolders().data ?? [];
  const [folder, setFolder] = useState(before ?? '');
  const put = async (to: string | null): Promise<unknown> =>
    acts.run(async () => api.transcripts.update({ params: { id }, body: { folder_id: to } }), { stale });
  const save = async (): Promise<void> => {
    if (!(await put(folder === '' ? null : folder))) return;
    acts.say(text.moved, { undo: () => put(before) });
    onClose();
  };
  return (
    <Dialog title={text.move} onClose={onClose}>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <SelectField
          label={text.folder}
          value={folder}
          onInput={setFolder}
          options={[['', text.noFolder], ...folderOptions(folders)]}
        />
        <Button look="primary" type="submit" onPress={save}>
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}

/** Files with the text, as links: the browser saves them by itself. */
function Export({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useWords().transcripts;
  return (
    <Dialog title={text.export} onClose={onClose}>
      <p>{text.exportText}</p>
      <ul class="rows" aria-label={text.export}>
        {formats.map((format) => (
          <li key={format}>
            <a class="row-link" href={`/v1/transcripts/${id}/export?format=${format}`} download>
              {text.formats[format]}
            </a>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
