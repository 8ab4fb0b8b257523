import { api } from '../../api/client.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { size } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

export type BackupFile = Awaited<ReturnType<typeof api.system.listBackups>>['data'][number];

/** The backups that are kept, as links: the browser saves them by itself, however large. */
export function BackupFiles({ files, onClose }: { files: readonly BackupFile[]; onClose: () => void }) {
  const text = useWords().system.backups;
  return (
    <Dialog title={text.download} onClose={onClose}>
      <p>{text.downloadText}</p>
      {files.length === 0 && <p class="hint">{text.noneYet}</p>}
      <ul class="rows" aria-label={text.download}>
        {files.map(({ name, bytes, at }) => (
          <li key={name}>
            <a class="row-link" href={`/v1/system/backups/files/${encodeURIComponent(name)}`} download>
              <Time at={at} /> · {size(bytes)}
            </a>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
