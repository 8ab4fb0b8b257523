import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { ActionButtons } from '../../ui/ActionButtons.tsx';
import { useActs } from '../../ui/acts.tsx';
import { Button, ButtonLink } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Icon, type IconName } from '../../ui/icons.tsx';
import { Link } from '../../ui/Link.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { RunState } from '../../ui/RunState.tsx';
import { Answered } from '../../ui/State.tsx';
import { tomorrow } from '../../ui/time.rules.ts';
import { Clock, Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { NextRun } from '../schedules/NextRun.tsx';
import { isPromised, PausedText } from '../schedules/Paused.tsx';
import { FirstSteps } from './FirstSteps.tsx';
import { type Item, type Overview, readOverview } from './overview.ts';

const hourMs = 3_600_000;
const manyItems = 50;

/** What needs a person, and the buttons that mend it. */
export function Now() {
  const words = useWords();
  const answer = useAnswer(['overview'], readOverview);
  return (
    <Page title={words.now.title} acts={answer.data && <PauseMenu overview={answer.data} />}>
      <Answered answer={answer} rows={6}>
        {(overview) => (
          <>
            {/* What needs a person comes first: on a phone the tiles fill the screen. */}
            {isCalm(overview) && <Tiles overview={overview} />}
            <Attention overview={overview} />
            {!isCalm(overview) && <Tiles overview={overview} />}
            <FirstSteps overview={overview} />
            <div class="columns">
              <Next overview={overview} />
              <Recent overview={overview} />
            </div>
            <div class="foot">
              <CurlButton path="/v1/overview" />
            </div>
          </>
        )}
      </Answered>
    </Page>
  );
}

const isCalm = ({ attention }: Overview): boolean => attention.every(isSilent);
const isSilent = ({ muted_until: until }: Item): boolean => until !== undefined;

/** Stops every schedule for a while, or lets them go on. */
function PauseMenu({ overview }: { overview: Overview }) {
  const words = useWords();
  const acts = useActs();
  const stale = ['overview', 'schedules'];
  const text = words.schedules;
  if (overview.paused)
    return (
      <Button icon="play" onPress={() => acts.send('schedules.resume', { body: {} }, text.allResumed, stale)}>
        {words.now.resumeAll}
      </Button>
    );
  const pause = (until?: Date): unknown =>
    acts.run(
      async () =>
        api.schedules.pause({ body: { resume_policy: 'skip', ...(until && { until: until.toISOString() }) } }),
      { done: text.allPaused, stale },
    );
  return (
    <Menu
      label={words.now.pauseAll}
      icon="pause"
      hasWords
      items={[
        { label: text.pauseAllFor.hour, act: () => pause(new Date(Date.now() + hourMs)) },
        { label: text.pauseAllFor.day, act: () => pause(tomorrow()) },
        { label: text.pauseAllFor.ever, act: () => pause() },
      ]}
    />
  );
}

function Tiles({ overview: { counts } }: { overview: Overview }) {
  const words = useWords();
  const text = words.now;
  const { heartbeats, runs, machines, sandboxes, transcripts, notifications } = counts;
  const tiles: [IconName, string, string, string, boolean][] = [];
  if (heartbeats) {
    const bad = heartbeats.down + heartbeats.late;
    tiles.push([
      'monitors',
      text.tiles.heartbeats,
      text.ofMonitors(heartbeats.up, bad, heartbeats.paused),
      '/heartbeats',
      bad > 0,
    ]);
  }
  if (runs)
    tiles.push([
      'schedules',
      text.tiles.runs,
      text.ofRuns(runs.running, runs.failed_24h),
      '/schedules',
      runs.failed_24h > 0,
    ]);
  if (machines)
    tiles.push(['machines', text.tiles.machines, text.ofMachines(machines.online, machines.away), '/machines', false]);
  if (sandboxes)
    tiles.push([
      'sandboxes',
      text.tiles.sandboxes,
      text.ofSandboxes(sandboxes.running, sandboxes.paused),
      '/sandboxes',
      false,
    ]);
  if (transcripts)
    tiles.push([
      'transcripts',
      text.tiles.transcripts,
      text.ofTranscripts(transcripts.processing, transcripts.failed),
      '/transcripts',
      transcripts.failed > 0,
    ]);
  if (notifications)
    tiles.push([
      'alerts',
      text.tiles.notifications,
      String(notifications.unread),
      '/notifications',
      notifications.unread > 0,
    ]);
  return (
    <ul class="tiles">
      {tiles.map(([icon, label, value, to, isBad]) => (
        <li key={to}>
          <Link href={to} class={isBad ? 'tile marked' : 'tile'}>
            <Icon name={icon} />
            <span class="tile-label">{label}</span>
            <span class="tile-value">{value}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Attention({ overview: { attention: all, unavailable, counts } }: { overview: Overview }) {
  const words = useWords();
  const [isAll, setAll] = useState(false);
  const hasMachine = !counts.machines || counts.machines.online + counts.machines.away > 0;
  const attention = all.filter((item) => !isSilent(item));
  const silent = all.filter(isSilent);
  const first = 8;
  const shown = isAll ? attention : attention.slice(0, first);
  return (
    <section class="section" aria-labelledby="needs-you">
      <h2 id="needs-you" class={attention.length === 0 ? 'unseen' : undefined}>
        {words.now.attention}
      </h2>
      {unavailable.length > 0 && <p class="box note">{words.now.unavailable(unavailable.join(', '))}</p>}
      {attention.length === 0 && (
        <p class="well">
          <Icon name="check" />
          {words.now.allWell}
        </p>
      )}
      <ul class="cards">
        {shown.map((item) => (
          <li key={`${item.kind}-${item.id}`}>
            <ItemCard item={item} hasMachine={hasMachine} />
          </li>
        ))}
      </ul>
      {shown.length < attention.length && (
        <Button onPress={() => setAll(true)}>{words.count.items(attention.length - shown.length)}</Button>
      )}
      {silent.length > 0 && (
        <>
          <h3>{words.now.silent}</h3>
          <ul class="cards">
            {silent.map((item) => (
              <li key={`${item.kind}-${item.id}`}>
                <ItemCard item={item} hasMachine={hasMachine} />
              </li>
            ))}
          </ul>
        </>
      )}
      {isAll && attention.length >= manyItems && <p class="hint">{words.now.andMore}</p>}
    </section>
  );
}

const shapes = { critical: 'down', warning: 'warn', info: 'info' } as const;

function ItemCard({ item, hasMachine }: { item: Item; hasMachine: boolean }) {
  const words = useWords();
  const kind = words.now.kinds[item.kind];
  const isInstant = item.kind === 'schedules_paused';
  return (
    <article class={`card ${item.severity}`}>
      <Icon name={shapes[item.severity]} />
      <div class="card-text">
        <p class="card-kind">
          {kind} · <Time at={item.since} />
        </p>
        {item.title !== '' && (
          <h3>
            <Link href={item.href}>{item.title}</Link>
          </h3>
        )}
        {item.muted_until !== undefined && (
          <p>
            {words.monitors.silentUntil} <Clock at={item.muted_until} />
          </p>
        )}
        {item.waiting_for !== undefined && <p>{words.runs.waits[item.waiting_for]}</p>}
        {item.detail !== undefined &&
          (isInstant ? (
            <p>
              {words.monitors.pausedUntil} <Clock at={item.detail} />
            </p>
          ) : (
            <p class="card-detail">{item.detail}</p>
          ))}
      </div>
      <div class="card-acts">
        {item.kind === 'run_stuck' && <StuckLink item={item} hasMachine={hasMachine} />}
        <ActionButtons
          actions={item.actions}
          isSilent={isSilent(item)}
          first={item.kind === 'run_stuck' ? 'plain' : 'primary'}
          stale={['overview', 'scheduler', 'heartbeats', 'notifications', 'schedules']}
        />
        {item.kind === 'run_failed' && <ButtonLink to={item.href}>{words.now.showLog}</ButtonLink>}
      </div>
    </article>
  );
}

/** Where a run is helped that no machine starts: at the machine that it waits on, else among all of them. */
function StuckLink({ item, hasMachine }: { item: Item; hasMachine: boolean }) {
  const words = useWords();
  const page = item.actions.find(({ id }) => id === 'open')?.path;
  const label =
    item.waiting_for === 'not_approved'
      ? words.runs.approveThere
      : page !== undefined
        ? words.runs.showMachine
        : hasMachine
          ? words.nav.machines
          : words.machines.invite;
  return (
    <ButtonLink to={page ?? '/machines'} look="primary">
      {label}
    </ButtonLink>
  );
}

function Next({ overview: { next, paused } }: { overview: Overview }) {
  const words = useWords();
  const promised = next.filter(({ at }) => isPromised(at, paused));
  return (
    <Section title={words.now.next}>
      {paused && (
        <p class="hint">
          <PausedText pause={paused} />
        </p>
      )}
      {!paused && next.length === 0 && <p class="hint">{words.now.nothingNext}</p>}
      <ul class="rows">
        {promised.map(({ schedule_id: id, name, at }) => (
          <li key={id}>
            <Link href={`/schedules/${id}`} class="row-link">
              <span class="row-main">{name}</span>
              <NextRun at={at} />
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Recent({ overview: { recent } }: { overview: Overview }) {
  const words = useWords();
  return (
    <Section title={words.now.recent}>
      {recent.length === 0 && <p class="hint">{words.now.nothingRecent}</p>}
      <ul class="rows">
        {recent.map(({ id, name, state, at }) => (
          <li key={id}>
            <Link href={`/schedule-runs/${id}`} class="row-link">
              <span class="row-main">{name}</span>
              <RunState state={state} />
              <Time at={at} />
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
