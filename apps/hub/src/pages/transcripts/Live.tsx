import { useEffect, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { Section } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { clockOf } from './player.rules.ts';

type Frame = Awaited<ReturnType<typeof api.transcripts.stream>> extends AsyncGenerator<infer E> ? E : never;
type Live = NonNullable<Extract<Frame, { event: 'transcript' }>['data']['live']>;
const mostLines = 200;
const againMs = 3_000;

/** Captions as the device sends them, from the moment on at which the page is opened: none of them is kept. */
export function LiveText({ id }: { id: string }) {
  const text = useWords().transcripts;
  const [lines, setLines] = useState<Live['finals']>([]);
  const [last, setLast] = useState<Live>();
  useEffect(() => {
    let stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listen = async (signal: AbortSignal): Promise<void> => {
      try {
        for await (const frame of api.transcripts.stream({}, { signal, retries: 0 })) {
          if (frame.event !== 'transcript' || frame.data.id !== id || frame.data.live === undefined) continue;
          const { live } = frame.data;
          setLast(live);
          if (live.finals.length > 0) setLines((before) => [...before, ...live.finals].slice(-mostLines));
        }
      } catch {
        // A lost stream is opened again below.
      }
      if (!signal.aborted) timer = setTimeout(() => void listen(signal), againMs);
    };
    // A page that nobody sees holds no connection.
    const turn = (): void => {
      stop.abort();
      clearTimeout(timer);
      stop = new AbortController();
      if (!document.hidden) void listen(stop.signal);
    };
    turn();
    document.addEventListener('visibilitychange', turn);
    return () => {
      document.removeEventListener('visibilitychange', turn);
      stop.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return (
    <Section title={text.live}>
      <div class="stack said boxed" role="log" aria-label={text.live}>
        {last === undefined && <p class="hint">{text.liveWaits}</p>}
        {last?.paused === true && <p class="hint">{text.livePaused}</p>}
        {lines.map((line, place) => (
          <p key={place}>
            <span class="time">{clockOf(line.start_ms)} </span>
            {line.speaker !== undefined && <strong>{line.speaker}: </strong>}
            {line.text}
          </p>
        ))}
        {last?.partial !== undefined && <p class="hint">{last.partial}</p>}
      </div>
    </Section>
  );
}
