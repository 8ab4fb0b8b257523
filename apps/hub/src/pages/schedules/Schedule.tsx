import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { duration } from '../../ui/time.rules.ts';
import { useLocale, useWords, useZone } from '../../words/words.tsx';
import { isLate, NextRun } from './NextRun.tsx';
import { isPromised, OnOff, PausedNote, usePause } from './Paused.tsx';
import { RunList } from './Runs.tsx';
import { type ScheduleRecord, triggerWords, workOf } from './schedules.ts';

const stale = ['schedules', 'scheduler', 'overview'];

/** One schedule: what it does, when it runs next, and how its runs went. */
export function Schedule({ id }: { id: string }) {
  const words = useWords();
  const answer = useAnswer(['schedules', id], async () => api.schedules.get({ params: { id } }));
  return (
    <Page
      title={answer.data?.name ?? words.schedules.title}
      back={{ to: '/schedules', label: words.schedules.title }}
      acts={answer.data && <ScheduleActs schedule={answer.data} />}
    >
      <Answered answer={answer}>{(schedule) => <Facts schedule={schedule} />}</Answered>
      <Section title={words.runs.title}>
        <RunList query={{ schedule_id: id }} />
      </Section>
      <div class="foot">
        <CurlButton path={`/v1/schedules/${id}`} />
      </div>
    </Page>
  );
}

function Facts({ schedule }: { schedule: ScheduleRecord }) {
  const words = useWords();
  const text = words.schedules;
  const pause = usePause();
  const { locale } = useLocale();
  const zone = useZone();
  const approval = schedule.policy?.approval;
  const { enabled, kind, spec, trigger, target, description, notify = 'on_failure', ignore = [] } = schedule;
  const { next_run_at: due } = schedule;
  const late = due !== undefined && isLate(due) ? [due] : [];
  const upcoming = [...late, ...schedule.upcoming].filter((at) => isPromised(at, pause));
  const every = trigger.type === 'interval' ? duration(trigger.every_s * 1_000) : '';
  return (
    <div class="stack">
      <PausedNote pause={pause} />
      <p class="facts">
        <OnOff isOn={enabled} pause={pause} />
        <span>
          {text.kinds[kind]} · {triggerWords(schedule, words, every, { locale, zone })} · {text.targets[target.type]}
          {target.type === 'tags' && ` ${target.tags.join(', ')}`}
          {(approval === 'always' || approval === 'outside_hours') && ` · ${text.asks[approval]}`}
        </span>
      </p>
      {description !== undefined && <p>{description}</p>}
      <pre class="body">{workOf(spec) === '' ? JSON.stringify(spec, null, 2) : workOf(spec)}</pre>
      {notify !== 'on_failure' && (
        <p>
          {text.tell}: {text.tells[notify]}
        </p>
      )}
      {notify === 'on_change' && ignore.length > 0 && (
        <p>
          {text.ignored}:{' '}
          {ignore.map((pattern, place) => (
            <span key={pattern}>
              {place > 0 && ', '}
              <code>{pattern}</code>
            </span>
          ))}
        </p>
      )}
      {upcoming.length > 0 && (
        <p>
          {text.next}:{' '}
          {upcoming.map((at, place) => (
            <span key={at}>
              {place > 0 && ', '}
              <NextRun at={at} />
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

function ScheduleActs({ schedule }: { schedule: ScheduleRecord }) {
  const words = useWords();
  const text = words.schedules;
  const acts = useActs();
  const [, go] = useLocation();
  const [isDeleting, setDeleting] = useState(false);
  const { id, name, enabled } = schedule;
  const params = { id };
  const run = async (): Promise<void> => {
    const made = await acts.run(async () => api.schedules.run({ params }), { stale });
    if (made?.run_id !== undefined) go(`/schedule-runs/${made.run_id}`);
    else if (made) acts.say(text.notQueued, { isProblem: true });
  };
  const set = (isOn: boolean): Promise<unknown> =>
    acts.send('schedules.update', { params, body: { enabled: isOn } }, isOn ? text.turnedOn : text.turnedOff, stale);
  return (
    <>
      <Button look="primary" icon="play" onPress={run}>
        {text.runNow}
      </Button>
      <Menu
        label={words.moreActs}
        items={[
          enabled ? { label: text.turnOff, act: () => set(false) } : { label: text.turnOn, act: () => set(true) },
          { label: words.monitors.delete, act: () => setDeleting(true), isDanger: true },
        ]}
      />
      {isDeleting && (
        <DeleteDialog
          name={name}
          text={text.deleteText(name)}
          onClose={() => setDeleting(false)}
          onDelete={async () => {
            const work = async (): Promise<true> => {
              await api.schedules.remove({ params });
              return true;
            };
            if (await acts.run(work, { done: words.monitors.deleted, stale })) go('/schedules');
          }}
        />
      )}
    </>
  );
}
