import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer, useRows } from '../../api/queries.ts';
import { ButtonLink } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { SearchBox } from '../../ui/SearchBox.tsx';
import { Empty } from '../../ui/State.tsx';
import { duration } from '../../ui/time.rules.ts';
import { useLocale, useWords, useZone } from '../../words/words.tsx';
import { NextRun } from './NextRun.tsx';
import { isPromised, OnOff, type Pause, PausedNote, usePause } from './Paused.tsx';
import { type ScheduleRecord, triggerWords, workOf } from './schedules.ts';

/** Every schedule, and the next day as a strip. */
export function Schedules() {
  const words = useWords();
  const text = words.schedules;
  const pause = usePause();
  const [params, setParams] = useSearchParams();
  const wanted = { q: params.get('q') ?? '', enabled: params.get('enabled') ?? '' };
  const answer = useRows<ScheduleRecord>(['schedules', 'list', wanted], async (cursor) => {
    const query = {
      limit: 100,
      ...(wanted.q !== '' && { q: wanted.q }),
      ...(wanted.enabled !== '' && { enabled: wanted.enabled as 'true' }),
      ...(cursor !== undefined && { cursor }),
    };
    const { schedules, next_cursor: next } = await api.schedules.list({ query });
    return { rows: schedules, next };
  });
  const set = (next: typeof wanted): void =>
    setParams(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== '')), { replace: true });
  return (
    <Page
      title={text.title}
      acts={
        <>
          <ButtonLink to="/schedule-runs">{words.runs.title}</ButtonLink>
          <ButtonLink to="/schedules/new" look="primary" icon="add">
            {text.new}
          </ButtonLink>
        </>
      }
    >
      <PausedNote pause={pause} />
      <DayStrip pause={pause} />
      <div class="tools">
        <SearchBox value={wanted.q} onSearch={(q) => set({ ...wanted, q })} />
        <Filter
          label={text.title}
          value={wanted.enabled}
          onChange={(enabled) => set({ ...wanted, enabled })}
          options={[
            ['', words.all],
            ['true', text.on],
            ['false', text.off],
          ]}
        />
      </div>
      <Rows
        answer={answer}
        label={text.title}
        row={(schedule) => <ScheduleRow schedule={schedule} pause={pause} />}
        empty={<Empty>{wanted.q === '' && wanted.enabled === '' ? text.empty : text.emptyFiltered}</Empty>}
      />
      <div class="foot">
        <CurlButton path="/v1/schedules" />
      </div>
    </Page>
  );
}

function ScheduleRow({ schedule, pause }: { schedule: ScheduleRecord; pause: Pause }) {
  const words = useWords();
  const { locale } = useLocale();
  const zone = useZone();
  const { id, name, enabled, spec, next_run_at: next, trigger } = schedule;
  const every = trigger.type === 'interval' ? duration(trigger.every_s * 1_000) : '';
  return (
    <div class="row">
      <Link href={`/schedules/${id}`} class="row-link">
        <OnOff isOn={enabled} pause={pause} />
        <span class="row-main">
          <span class="row-title">{name}</span>
          <span class="row-detail">
            {triggerWords(schedule, words, every, { locale, zone })} · <code>{workOf(spec).slice(0, 200)}</code>
          </span>
        </span>
        {next !== undefined && isPromised(next, pause) && <NextRun at={next} />}
      </Link>
    </div>
  );
}

const dayMs = 86_400_000;

/** What runs in the next 24 hours, each as a mark; read aloud as a count. */
function DayStrip({ pause }: { pause: Pause }) {
  const words = useWords();
  const { data } = useAnswer(['schedules', 'upcoming'], async () => ({
    at: Date.now(),
    ...(await api.schedules.upcoming({ query: { limit: 500 } })),
  }));
  const upcoming = data?.upcoming.filter(({ at }) => isPromised(at, pause)) ?? [];
  if (!data || upcoming.length === 0) return null;
  return (
    <svg
      class="day-strip"
      viewBox="0 0 1000 20"
      preserveAspectRatio="none"
      role="img"
      aria-label={words.schedules.inDay(words.count.runs(upcoming.length))}
    >
      {upcoming.map(({ schedule_id: id, at }) => (
        <rect key={`${id}-${at}`} x={((Date.parse(at) - data.at) / dayMs) * 1_000} y="2" width="3" height="16" />
      ))}
    </svg>
  );
}
