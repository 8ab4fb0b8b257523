import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { type Answer, useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { useWords } from '../../words/words.tsx';
import { type Folder, folderOptions, stale } from './transcripts.ts';

/** Folders of the account: a thousand at most, in one answer. */
export const useFolders = (): Answer<Folder[]> =>
  useAnswer(
    ['transcripts', 'folders'],
    async () => (await api.transcripts.listFolders({ query: { limit: 1_000 } })).folders,
  );

/** Chooses the folder that the list shows, and changes folders. */
export function Folders({
  folders,
  value,
  onChange,
}: {
  folders: readonly Folder[];
  value: string;
  onChange: (id: string) => void;
}) {
  const text = useWords().transcripts;
  const acts = useActs();
  const [open, setOpen] = useState<'new' | 'rename' | 'delete'>();
  const chosen = folders.find(({ id }) => id === value);
  const close = (): void => setOpen(undefined);
  return (
    <div class="folders">
      <select
        aria-label={text.folder}
        value={chosen ? value : ''}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        <option value="">{text.allFolders}</option>
        {folderOptions(folders).map(([id, label]) => (
          <option value={id} key={id}>
            {label}
          </option>
        ))}
      </select>
      <Menu
        label={text.folderActs}
        items={[
          { label: text.newFolder, act: () => setOpen('new') },
          ...(chosen
            ? [
                { label: text.renameFolder, act: () => setOpen('rename') },
                { label: text.deleteFolder, act: () => setOpen('delete'), isDanger: true },
              ]
            : []),
        ]}
      />
      {open === 'new' && <FolderForm folders={folders} parent={value} onClose={close} />}
      {open === 'rename' && chosen && <FolderForm folders={folders} folder={chosen} onClose={close} />}
      {open === 'delete' && chosen && (
        <DeleteDialog
          name={chosen.name}
          label={text.deleteFolder}
          text={text.deleteFolderText(chosen.name)}
          onClose={close}
          onDelete={async () => {
            const work = async () => api.transcripts.removeFolder({ params: { id: chosen.id } });
            if (!(await acts.run(work, { done: text.folderDeleted, stale }))) return;
            close();
            onChange('');
          }}
        />
      )}
    </div>
  );
}

/** Makes a folder, or renames and moves one. */
function FolderForm({
  folders,
  folder,
  parent = '',
  onClose,
}: {
  folders: readonly Folder[];
  folder?: Folder;
  parent?: string;
  onClose: () => void;
}) {
  const words = useWords();
  const text = words.transcripts;
  const acts = useActs();
  const [name, setName] = useState(folder?.name ?? '');
  const [inside, setInside] = useState(folder ? (folder.parent_id ?? '') : parent);
  const save = async (): Promise<void> => {
    const title = name.trim();
    const work = async () =>
      folder
        ? api.transcripts.updateFolder({
            params: { id: folder.id },
            body: { name: title, parent_id: inside === '' ? null : inside },
          })
        : api.transcripts.createFolder({ body: { name: title, ...(inside !== '' && { parent_id: inside }) } });
    if (await acts.run(work, { done: folder ? text.folderRenamed : text.folderMade, stale })) onClose();
  };
  const others = folders.filter(({ id }) => id !== folder?.id);
  return (
    <Dialog title={folder ? text.renameFolder : text.newFolder} onClose={onClose}>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField label={words.name} value={name} onInput={(value) => setName(value.slice(0, 120))} required />
        {others.length > 0 && (
          <SelectField
            label={text.insideOf}
            value={inside}
            onInput={setInside}
            options={[['', text.atTop], ...folderOptions(others)]}
          />
        )}
        <Button look="primary" type="submit" onPress={save} disabled={name.trim() === ''}>
          {folder ? words.save : words.create}
        </Button>
      </form>
    </Dialog>
  );
}
