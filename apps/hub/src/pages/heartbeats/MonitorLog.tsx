import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Rows } from '../../ui/List.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status, type Tone } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { type MonitorRecord, statusTone } from './monitors.ts';

type Ping = Awaited<ReturnType<typeof api.heartbeats.pings>>['pings'][number];
interface Entry {
  at: string;
  kind: 'ping' | 'flip';
  ping?: Ping;
  from?: string;
  to?: string;
}
const tones: Record<string, Tone> = { success: 'good', start: 'busy', fail: 'bad', log: 'rest', exit: 'bad' };

/** Pings and changes of state, newest first. */
export function MonitorLog({ id }: { id: string }) {
  const words = useWords();
  const answer = useRows<Entry & { id: string }>(['heartbeats', id, 'log'], async (cursor) => {
    const { pings } = await api.heartbeats.pings({ params: { id }, query: { limit: 100 } });
    return {
      rows: pings.map((ping, at) => ({
        at: ping.at,
        kind: 'ping' as const,
        ping,
        id: `${ping.at}-${cursor ?? ''}-${at}`,
      })),
    };
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
    const to = (entry.to ?? 'new') as MonitorRecord['status'];
    const from = (entry.from ?? 'new') as MonitorRecord['status'];
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
