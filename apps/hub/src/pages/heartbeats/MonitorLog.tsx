import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Rows } from '../../ui/List.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status, type Tone } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { statusTone } from './monitors.ts';

type Entry = Awaited<ReturnType<typeof api.heartbeats.log>>['log'][number];
const tones: Record<string, Tone> = { success: 'good', start: 'busy', fail: 'bad', log: 'rest', exit: 'bad' };

/** Pings and changes of state, newest first. */
export function MonitorLog({ id }: { id: string }) {
  const words = useWords();
  const answer = useRows<Entry & { id: string }>(['heartbeats', id, 'log'], async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { log, next_cursor: next } = await api.heartbeats.log({ params: { id }, query });
    return { rows: log.map((entry, at) => ({ ...entry, id: `${entry.at}-${cursor ?? ''}-${at}` })), next };
  });
  return (
    <Section title={words.monitors.log}>
      <Rows
        answer={answer}
        label={words.monitors.log}
        estimate={52}
        row={(entry) => <LogRow entry={entry} />}
        empty={<Empty>{words.monitors.emptyLog}</Empty>}
      />
    </Section>
  );
}

function LogRow({ entry }: { entry: Entry }) {
  const words = useWords();
  const text = words.monitors;
  if (entry.kind === 'flip') {
    const to = entry.to ?? 'new';
    const from = entry.from ?? 'new';
    return (
      <div class="row log-row flip">
        <Status tone={statusTone[to]}>{text.flip(text.statuses[from], text.statuses[to])}</Status>
        <Time at={entry.at} />
      </div>
    );
  }
  const { ping } = entry;
  if (!ping) return null;
  const isGood = ping.kind === 'exit' && ping.exit_code === 0;
  return (
    <div class="row log-row">
      <Status tone={isGood ? 'good' : (tones[ping.kind] ?? 'rest')}>{text.kinds[ping.kind]}</Status>
      <span class="row-main">
        {ping.exit_code !== undefined && <span class="row-detail">{text.exitCode(ping.exit_code)}</span>}
        {ping.count > 1 && <span class="row-detail">{text.times(ping.count)}</span>}
        {ping.body !== undefined && ping.body !== '' && (
          <details>
            <summary>{ping.body.slice(0, 80)}</summary>
            <pre class="body">{ping.body}</pre>
          </details>
        )}
      </span>
      <Time at={entry.at} />
    </div>
  );
}
