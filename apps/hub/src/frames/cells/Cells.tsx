import { useEffect, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { useDraft } from '../../ui/draft.ts';
import { TextField } from '../../ui/Field.tsx';
import { duration } from '../../ui/time.rules.ts';
import { useWords } from '../../words/words.tsx';
import { Editor } from './Editor.tsx';

type Result = Awaited<ReturnType<typeof api.sandboxes.runCode>>;
const waitMs = 180_000;
const mostCells = 20;
/** A phone's own keyboard and marks of selected text work better in a plain field. */
const hasEditor = (): boolean => matchMedia('(min-width: 40rem) and (pointer: fine)').matches;

/** Cells of the Python kernel, the newest on top; its variables live on from cell to cell. */
export function Cells({ id }: { id: string }) {
  const text = useWords().sandboxes;
  const acts = useActs();
  const [draft, setDraft] = useDraft(`cell-${id}`, { code: '' });
  const [done, setDone] = useState<{ code: string; result: Result }[]>([]);
  const { code } = draft;
  const setCode = (value: string): void => setDraft({ code: value });
  const run = async (): Promise<void> => {
    const call = { timeoutMs: waitMs, retries: 0 };
    if (code.trim() === '') return;
    const result = await acts.run(async () => api.sandboxes.runCode({ params: { id }, body: { code } }, call));
    if (result) setDone((before) => [{ code, result }, ...before].slice(0, mostCells));
  };
  return (
    <div class="stack">
      {hasEditor() ? (
        <Editor label={text.code} value={code} onInput={setCode} onRun={() => void run()} />
      ) : (
        <TextField label={text.code} rows={5} isCode value={code} onInput={setCode} placeholder="print('hello')" />
      )}
      <div class="foot">
        <Button look="primary" icon="play" onPress={run} disabled={code.trim() === ''}>
          {text.run}
        </Button>
        {hasEditor() && <span class="hint">{text.runByKey}</span>}
      </div>
      <div class="stack" aria-live="polite">
        {done.map(({ code: ran, result }, at) => (
          <Cell key={done.length - at} id={id} code={ran} result={result} />
        ))}
      </div>
    </div>
  );
}

function Cell({ id, code, result }: { id: string; code: string; result: Result }) {
  const text = useWords().sandboxes;
  const { stdout, stderr, error, images, truncated } = result;
  const output = [stdout, stderr, result.result ?? '', error?.traceback ?? ''].filter((part) => part !== '').join('\n');
  return (
    <article class="cell boxed">
      <p class="hint">
        [{result.execution_count}] {duration(result.duration_ms)}
      </p>
      <pre class="body">{code}</pre>
      {result.kernel_restarted && <p class="hint">{text.restarted}</p>}
      {truncated.length > 0 && <p class="hint">{text.cut}</p>}
      {output !== '' && (
        <pre class="body" tabIndex={0} aria-label={text.output}>
          {output}
        </pre>
      )}
      {images.map((path) => (
        <Figure key={path} id={id} path={path} />
      ))}
    </article>
  );
}

/** A figure, read as a file: its bytes stay in this browser's memory while the cell is shown. */
function Figure({ id, path }: { id: string; path: string }) {
  const text = useWords().sandboxes;
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    let made: string | undefined;
    let isGone = false;
    api.sandboxes.readFile({ params: { id, path } }).then(
      (bytes) => {
        if (isGone) return;
        made = URL.createObjectURL(new Blob([bytes as BlobPart], { type: 'image/png' }));
        setUrl(made);
      },
      () => {},
    );
    return () => {
      isGone = true;
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [id, path]);
  return url === undefined ? <code>{path}</code> : <img class="figure" src={url} alt={text.image} />;
}
