import { Fragment } from 'preact';
import { useMemo } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { runAgain } from '../../ui/ActionButtons.tsx';
import { Button, ButtonLink } from '../../ui/Button.tsx';
import { CopyText, CurlButton } from '../../ui/Copy.tsx';
import { Link } from '../../ui/Link.tsx';
import { Log, type LogSource } from '../../ui/Log.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { RunState } from '../../ui/RunState.tsx';
import { Answered } from '../../ui/State.tsx';
import { duration } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { approveLine } from '../machines/machines.rules.ts';
import { type RunRecord, workOf } from './schedules.ts';

const stale = ['scheduler', 'overview', 'notifications'];
const over: readonly string[] = ['succeeded', 'failed', 'timed_out', 'skipped', 'cancelled', 'expired'];

/** One run: what it does and where, why it waits, its attempts, its log as it comes, and the buttons that decide it. */
export function Run({ id }: { id: string }) {
  const words = useWords();
  const answer = useAnswer(['scheduler', id], async () => api.scheduler.getRun({ params: { id } }));
  const { data } = answer;
  return (
    <Page title={data?.name ?? words.runs.run} back={{ to: '/schedule-runs', label: words.runs.title }}>
      <Answered answer={answer}>
        {(run) => (
          <>
            <Decide run={run} />
            <Facts run={run} />
            {run.state === 'pending' && <Help run={run} />}
            {run.started_at !== undefined && <RunLog id={id} attempt={run.attempt} />}
            <Attempts run={run} />
          </>
        )}
      </Answered>
      <div class="foot">
        <CurlButton path={`/v1/schedule-runs/${id}`} />
      </div>
    </Page>
  );
}

function Decide({ run }: { run: RunRecord }) {
  const words = useWords();
  const acts = useActs();
  const params = { id: run.id };
  const { done } = words.actions;
  const decide = (decision: 'approve' | 'skip') => () =>
    acts.send('scheduler.decide', { params, body: { decision } }, done[decision], stale);
  return (
    <div class="decide">
      {run.state === 'awaiting_approval' && (
        <>
          <Button look="primary" icon="check" onPress={decide('approve')}>
            {words.actions.approve}
          </Button>
          <Button onPress={decide('skip')}>{words.actions.skip}</Button>
        </>
      )}
      {(run.state === 'pending' || run.state === 'running') && (
        <Button look="danger" onPress={() => acts.send('scheduler.cancel', { params }, done.cancel, stale)}>
          {words.actions.cancel}
        </Button>
      )}
      {over.includes(run.state) && (
        <Button
          look="primary"
          icon="play"
          onPress={() => acts.send('scheduler.rerun', { params }, runAgain(words), stale)}
        >
          {words.actions.rerun}
        </Button>
      )}
    </div>
  );
}

function Facts({ run }: { run: RunRecord }) {
  const words = useWords();
  const text = words.runs;
  const { state, started_at: started, finished_at: finished, error, waiting_for: waits, exit_code: code } = run;
  const { ended_processes: ended } = run;
  const work = workOf(run.spec);
  return (
    <div class="stack">
      <p class="facts">
        <RunState state={state} />
        {waits !== undefined && state === 'pending' && <span>{text.waits[waits]}</span>}
        {code !== undefined && !error?.includes(`exit code ${code}`) && <span>{words.monitors.exitCode(code)}</span>}
        {ended !== undefined && <span>{text.ended(ended)}</span>}
        {started !== undefined && finished !== undefined && (
          <span>{words.monitors.took(duration(Date.parse(finished) - Date.parse(started)))}</span>
        )}
      </p>
      {error !== undefined && <p class="box problem">{error}</p>}
      {work !== '' && <pre class="body">{work}</pre>}
      <dl class="pairs">
        <dt>{text.planned}</dt>
        <dd>
          <Time at={run.scheduled_for} />
        </dd>
        {run.device_id !== undefined && (
          <>
            <dt>{text.machine}</dt>
            <dd>
              <MachineLink id={run.device_id} />
            </dd>
          </>
        )}
        <dt>{text.schedule}</dt>
        <dd>
          <Link href={`/schedules/${run.schedule_id}`}>{run.name}</Link>
        </dd>
      </dl>
    </div>
  );
}

/** What a person can do for a run that no machine starts: the line to type at the machine that it waits on, and its page. */
function Help({ run }: { run: RunRecord }) {
  const words = useWords();
  const { waiting_for: reason, waiting_on: on = [] } = run;
  if (reason === 'no_host' && on.length === 0)
    return (
      <p class="foot">
        <ButtonLink to="/machines">{words.nav.machines}</ButtonLink>
      </p>
    );
  if (on.length === 0 || reason === 'host_busy') return null;
  return (
    <div class="card warning">
      <div class="card-text">
        {reason === 'not_approved' && <p>{words.machines.approvalsHint}</p>}
        <p>
          {words.runs.machine}:{' '}
          {on.map((id, place) => (
            <Fragment key={id}>
              {place > 0 && ', '}
              <MachineLink id={id} />
            </Fragment>
          ))}
        </p>
        {reason === 'not_approved' && <CopyText text={approveLine(run.schedule_id)} />}
      </div>
    </div>
  );
}

/** A machine by its name; of one that cannot be read the words alone. */
function MachineLink({ id }: { id: string }) {
  const words = useWords();
  const { data } = useAnswer(['machines', id], async () => api.machines.get({ params: { device_id: id } }));
  return <Link href={`/machines/${id}`}>{data?.name ?? words.runs.showMachine}</Link>;
}

/** Reads the log of a run as it comes; after a cut it goes on at the byte where it was. */
function logOf(id: string): LogSource {
  return async (onText, signal) => {
    let from = 0;
    for (;;) {
      try {
        for await (const frame of api.scheduler.log.events(
          { params: { id }, query: { from } },
          { signal, timeoutMs: 45_000 },
        )) {
          if (frame.event === 'end') return;
          from = frame.data.from + new TextEncoder().encode(frame.data.text).length;
          onText(frame.data.text);
        }
      } catch {
        if (signal.aborted) return;
        await new Promise((resolve) => setTimeout(resolve, 2_000));
      }
    }
  };
}

function RunLog({ id, attempt }: { id: string; attempt: number }) {
  const words = useWords();
  const source = useMemo(() => logOf(id), [id, attempt]);
  return (
    <Section title={words.runs.log}>
      <Log source={source} label={words.runs.log} key={attempt} />
    </Section>
  );
}

function Attempts({ run: { attempts } }: { run: RunRecord }) {
  const words = useWords();
  const text = words.runs;
  if (attempts.length < 2) return null;
  return (
    <Section title={text.attempts}>
      <ul class="rows">
        {attempts.map(({ attempt, state, started_at: started, error, ended_processes: ended }) => (
          <li key={attempt} class="row padded">
            <span class="row-main">
              <span class="row-title">
                {attempt}. {text.attemptStates[state]}
              </span>
              {error !== undefined && <span class="row-detail">{error}</span>}
              {ended !== undefined && <span class="row-detail">{text.ended(ended)}</span>}
            </span>
            <Time at={started} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
