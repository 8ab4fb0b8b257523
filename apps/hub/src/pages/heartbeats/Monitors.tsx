import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Bars } from '../../ui/Bars.tsx';
import { ButtonLink } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { SearchBox } from '../../ui/SearchBox.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { duration } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { type MonitorRecord, statusTone } from './monitors.ts';

const barDays = 30;

/** Every monitor, worst first. */
export function Monitors() {
  const words = useWords();
  const [params, setParams] = useSearchParams();
  const wanted = {
    q: params.get('q') ?? '',
    status: params.get('status') ?? '',
    sort: params.get('sort') ?? 'trouble',
  };
  const answer = useRows<MonitorRecord>(['heartbeats', 'list', wanted], async (cursor) => {
    const query = {
      limit: 100,
      sort: wanted.sort as 'trouble',
      days: barDays,
      ...(wanted.q !== '' && { q: wanted.q }),
      ...(wanted.status !== '' && { status: wanted.status }),
      ...(cursor !== undefined && { cursor }),
    };
    const { heartbeats, next_cursor: next } = await api.heartbeats.list({ query });
    return { rows: heartbeats, next };
  });
  const set = (name: string, value: string): void =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  const isFiltered = wanted.q !== '' || wanted.status !== '';
  const { statuses } = words.monitors;
  return (
    <Page
      title={words.monitors.title}
      acts={
        <ButtonLink to="/heartbeats/new" look="primary" icon="add">
          {words.monitors.new}
        </ButtonLink>
      }
    >
      <div class="tools">
        <SearchBox value={wanted.q} onSearch={(value) => set('q', value)} />
        <Filter
          label={words.monitors.title}
          value={wanted.status}
          onChange={(value) => set('status', value)}
          options={[
            ['', words.all],
            ['down,late', statuses.down],
            ['up', statuses.up],
            ['paused', statuses.paused],
            ['new', statuses.new],
          ]}
        />
      </div>
      <Rows
        answer={answer}
        label={words.monitors.title}
        row={(monitor) => <MonitorRow monitor={monitor} />}
        empty={
          <Empty
            act={
              !isFiltered && (
                <ButtonLink to="/heartbeats/new" look="primary">
                  {words.monitors.new}
                </ButtonLink>
              )
            }
          >
            {isFiltered ? words.monitors.emptyFiltered : words.monitors.empty}
          </Empty>
        }
      />
      <div class="foot">
        <CurlButton path="/v1/heartbeats" />
      </div>
    </Page>
  );
}

function MonitorRow({ monitor }: { monitor: MonitorRecord }) {
  const words = useWords();
  const { id, name, status, last_ping_at: last, cron, period_s: period, tags, days } = monitor;
  return (
    <div class="row">
      <Link href={`/heartbeats/${id}`} class="row-link">
        <Status tone={statusTone[status]}>{words.monitors.statuses[status]}</Status>
        <span class="row-main">
          <span class="row-title">{name}</span>
          <span class="row-detail">
            {cron ?? words.monitors.every(duration(period * 1_000))}
            {tags?.map((tag) => (
              <span class="tag" key={tag}>
                {tag}
              </span>
            ))}
          </span>
        </span>
        {days !== undefined && <Bars days={days} />}
        {last === undefined ? <span class="time">{words.monitors.noPing}</span> : <Time at={last} />}
      </Link>
    </div>
  );
}
