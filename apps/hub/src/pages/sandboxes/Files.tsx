import { useRef, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Section } from '../../ui/Page.tsx';
import { Answered, Empty } from '../../ui/State.tsx';
import { size } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Entry = Awaited<ReturnType<typeof api.sandboxes.listFiles>>['entries'][number];
const lastPart = (path: string): string => path.split('/').at(-1) ?? path;
const savedMs = 60_000;
/** The API takes no larger file. */
const mostBytes = 100 * 1024 * 1024;

/** Hands bytes to the browser as a file to keep; they are never shown as a page. */
function save(bytes: Uint8Array, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), savedMs);
}

/** The workspace, one folder at a time. */
export function Files({ id }: { id: string }) {
  const text = useWords().sandboxes;
  const [path, setPath] = useState('');
  const answer = useAnswer(
    ['sandboxes', id, 'files', path],
    async () => (await api.sandboxes.listFiles({ params: { id }, query: { path } })).entries,
    { kept: false },
  );
  const parts = path === '' ? [] : path.split('/');
  return (
    <Section title={text.files} acts={<Upload id={id} folder={path} onDone={answer.again} />}>
      <nav class="crumbs" aria-label={text.files}>
        <Button look="quiet" onPress={() => setPath('')}>
          /workspace
        </Button>
        {parts.map((part, at) => (
          <Button
            key={parts.slice(0, at + 1).join('/')}
            look="quiet"
            onPress={() => setPath(parts.slice(0, at + 1).join('/'))}
          >
            {`/ ${part}`}
          </Button>
        ))}
      </nav>
      <Answered answer={answer}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty>{text.noFiles}</Empty>
          ) : (
            <ul class="rows">
              {entries.map((entry) => (
                <li key={entry.path}>
                  <FileRow id={id} entry={entry} onOpen={setPath} />
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
    </Section>
  );
}

/** Writes files of this device into a folder, one after the other; one that is there is replaced. */
function Upload({ id, folder, onDone }: { id: string; folder: string; onDone: () => void }) {
  const text = useWords().sandboxes;
  const acts = useActs();
  const picker = useRef<HTMLInputElement>(null);
  const [state, setState] = useState('');
  const upload = async (files: readonly File[]): Promise<void> => {
    let done = 0;
    for (const file of files) {
      setState(text.uploading(done + 1, files.length));
      if (file.size > mostBytes) acts.say(text.tooLarge(file.name), { isProblem: true });
      else {
        const params = { id, path: folder === '' ? file.name : `${folder}/${file.name}` };
        const body = new Uint8Array(await file.arrayBuffer());
        if (await acts.run(async () => api.sandboxes.writeFile({ params, body }))) done += 1;
      }
    }
    setState('');
    if (done > 0) acts.say(text.uploaded(done));
    onDone();
  };
  return (
    <span class="facts">
      <span role="status">{state}</span>
      <Button icon="upload" onPress={() => picker.current?.click()} disabled={state !== ''}>
        {text.upload}
      </Button>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={text.upload}
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          currentTarget.value = '';
          void upload(files);
        }}
      />
    </span>
  );
}

function FileRow({ id, entry, onOpen }: { id: string; entry: Entry; onOpen: (path: string) => void }) {
  const words = useWords();
  const acts = useActs();
  const { path, bytes, type, mtime } = entry;
  const name = lastPart(path);
  const download = async (): Promise<void> => {
    const content = await acts.run(async () => api.sandboxes.readFile({ params: { id, path } }));
    if (content) save(content, name);
  };
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">{type === 'directory' ? `${name}/` : name}</span>
        <span class="row-detail">
          {type === 'file' && `${size(bytes)} · `}
          <Time at={mtime} />
        </span>
      </span>
      {type === 'directory' && <Button onPress={() => onOpen(path)}>{words.open}</Button>}
      {type === 'file' && <Button onPress={download}>{words.sandboxes.download}</Button>}
    </div>
  );
}
