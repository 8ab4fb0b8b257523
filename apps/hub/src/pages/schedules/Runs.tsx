import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { RunState } from '../../ui/RunState.tsx';
import { Empty } from '../../ui/State.tsx';
import { duration } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import type { ListedRun } from './schedules.ts';

/** Runs of all schedules, newest first. */
export function Runs() {
  const words = useWords();
  const [params, setParams] = useSearchParams();
  const state = params.get('state') ?? '';
  const { states } = words.runs;
  return (
    <Page title={words.runs.title} back={{ to: '/schedules', label: words.schedules.title }}>
      <Filter
        label={words.runs.title}
        value={state}
        onChange={(value) => setParams(value === '' ? {} : { state: value }, { replace: true })}
        options={[
          ['', words.all],
          ['awaiting_approval', states.awaiting_approval],
          ['pending,running', states.running],
          ['failed,timed_out,expired', states.failed],
          ['succeeded', states.succeeded],
        ]}
      />
      <RunList query={state === '' ? {} : { state }} />
      <div class="foot">
        <CurlButton path={`/v1/schedule-runs${state === '' ? '' : `?state=${state}`}`} />
      </div>
    </Page>
  );
}

/** Runs that fit a query, newest first. */
export function RunList({ query }: { query: { state?: string; schedule_id?: string; device_id?: string } }) {
  const words = useWords();
  const answer = useRows<ListedRun>(['scheduler', 'list', query], async (cursor) => {
    const { runs, next_cursor: next } = await api.scheduler.runs({
      query: { limit: 100, ...query, ...(cursor !== undefined && { cursor }) },
    });
    return { rows: runs, next };
  });
  return (
    <Rows
      answer={answer}
      label={words.runs.title}
      row={(run) => <RunRow run={run} />}
      empty={<Empty>{query.state === undefined ? words.runs.empty : words.runs.emptyFiltered}</Empty>}
    />
  );
}

function RunRow({ run }: { run: ListedRun }) {
  const words = useWords();
  const { id, state, error, scheduled_for: at, started_at: started, finished_at: finished, waiting_for: waits } = run;
  const took = started !== undefined && finished !== undefined ? Date.parse(finished) - Date.parse(started) : undefined;
  return (
    <div class="row">
      <Link href={`/schedule-runs/${id}`} class="row-link">
        <RunState state={state} />
        <span class="row-main">
          <span class="row-detail">
            {error ?? (waits === undefined || state !== 'pending' ? '' : words.runs.waits[waits])}
            {took !== undefined && words.monitors.took(duration(took))}
          </span>
        </span>
        <Time at={at} />
      </Link>
    </div>
  );
}
