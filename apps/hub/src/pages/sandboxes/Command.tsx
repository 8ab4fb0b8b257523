import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { useDraft } from '../../ui/draft.ts';
import { TextField } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { duration } from '../../ui/time.rules.ts';
import { useWords } from '../../words/words.tsx';

/** The end of the output that is kept, in characters. */
const keptOutput = 200_000;
interface Ran {
  output: string;
  isCut: boolean;
  end?: string;
}
const nothing: Ran = { output: '', isCut: false };

/** Runs a line of bash and shows its output as it comes. */
export function Command({ id }: { id: string }) {
  const words = useWords();
  const text = words.sandboxes;
  const acts = useActs();
  const [draft, setDraft] = useDraft(`command-${id}`, { line: '' });
  const [ran, setRan] = useState<Ran>();
  const [isRunning, setRunning] = useState(false);
  const stop = useRef<AbortController>();
  useEffect(() => () => stop.current?.abort(), []);
  const add = (more: string): void =>
    setRan((before = nothing) => {
      const output = before.output + more;
      return { ...before, output: output.slice(-keptOutput), isCut: before.isCut || output.length > keptOutput };
    });
  const listen = async (signal: AbortSignal): Promise<true> => {
    const input = { params: { id }, body: { shell: draft.line } };
    for await (const frame of api.sandboxes.exec.frames(input, { signal, retries: 0 })) {
      if (frame.type === 'stdout' || frame.type === 'stderr') add(frame.data);
      else if (frame.type === 'truncated') setRan((before = nothing) => ({ ...before, isCut: true }));
      else if (frame.type === 'error') acts.say(frame.message, { isProblem: true });
      else if (frame.type === 'exit') {
        const took = duration(frame.duration_ms);
        const end = frame.timed_out ? text.timedOut : text.exit(String(frame.exit_code ?? '–'), took);
        setRan((before = nothing) => ({ ...before, end }));
      }
    }
    return true;
  };
  const run = async (): Promise<void> => {
    const own = new AbortController();
    stop.current = own;
    setRan(nothing);
    setRunning(true);
    await acts.run(async () => {
      try {
        return await listen(own.signal);
      } catch (error) {
        if (own.signal.aborted) return true;
        throw error;
      }
    });
    if (stop.current === own) setRunning(false);
  };
  return (
    <Section title={text.command}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isRunning && draft.line.trim() !== '') void run();
        }}
      >
        <TextField
          label={text.commandLine}
          isCode
          value={draft.line}
          onInput={(line) => setDraft({ line })}
          placeholder="ls -la"
        />
        <div class="foot">
          <Button type="submit" icon="play" disabled={isRunning || draft.line.trim() === ''}>
            {text.run}
          </Button>
          {isRunning && <Button onPress={() => stop.current?.abort()}>{text.stop}</Button>}
        </div>
        {ran && <Output ran={ran} />}
      </form>
    </Section>
  );
}

function Output({ ran }: { ran: Ran }) {
  const text = useWords().sandboxes;
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const { current: shown } = box;
    if (shown) shown.scrollTop = shown.scrollHeight;
  }, [ran.output]);
  return (
    <>
      {ran.isCut && <p class="hint">{text.cut}</p>}
      <pre class="body" tabIndex={0} aria-label={text.output} ref={box}>
        {ran.output}
      </pre>
      <p class="hint" role="status">
        {ran.end}
      </p>
    </>
  );
}
