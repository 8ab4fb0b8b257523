import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Bars } from '../../ui/Bars.tsx';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Page } from '../../ui/Page.tsx';
import { Silence, useSilence } from '../../ui/Silence.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { duration, tomorrow } from '../../ui/time.rules.ts';
import { Clock, Time } from '../../ui/Time.tsx';
import { useWords, useZone } from '../../words/words.tsx';
import { bodyOf, draftOf, MonitorForm } from './MonitorForm.tsx';
import { type MonitorRecord, statusTone } from './monitors.ts';
import { MonitorLog } from './MonitorLog.tsx';
import { PingLines } from './NewMonitor.tsx';

const hourMs = 3_600_000;
const stale = ['heartbeats', 'overview'];

/** One monitor with its log. */
export function Monitor({ id }: { id: string }) {
  const words = useWords();
  const answer = useAnswer(['heartbeats', id], async () => api.heartbeats.get({ params: { id }, query: { days: 90 } }));
  return (
    <Page
      title={answer.data?.name ?? words.monitors.title}
      back={{ to: '/heartbeats', label: words.monitors.title }}
      acts={answer.data && <MonitorActs monitor={answer.data} />}
    >
      <Answered answer={answer}>{(monitor) => <Facts monitor={monitor} />}</Answered>
      <MonitorLog id={id} />
      <div class="foot">
        <CurlButton path={`/v1/heartbeats/${id}`} />
      </div>
    </Page>
  );
}

function Facts({ monitor }: { monitor: MonitorRecord }) {
  const words = useWords();
  const text = words.monitors;
  const zone = useZone();
  const { status, last_ping_at: last, cron, period_s: period, grace_s: grace, tz } = monitor;
  const { expected_at: expected, down_since: since, paused_until: until, muted_until: muted, tags, days } = monitor;
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={statusTone[status]}>{text.statuses[status]}</Status>
        <span>
          {cron === null ? text.every(duration(period * 1_000)) : [cron, tz].filter(Boolean).join(' ')},{' '}
          {text.grace(duration(grace * 1_000))}
        </span>
        {tags?.map((tag) => (
          <span class="tag" key={tag}>
            {tag}
          </span>
        ))}
      </p>
      {days !== undefined && <Bars days={days} />}
      <dl class="pairs">
        <dt>{text.lastPing}</dt>
        <dd>{last === undefined ? text.noPing : <Time at={last} />}</dd>
        {since !== undefined && (
          <>
            <dt>{text.downSince}</dt>
            <dd>
              <Time at={since} />
            </dd>
          </>
        )}
        {expected !== undefined && (
          <>
            <dt>{text.expected}</dt>
            <dd>
              <Clock at={expected} /> <span class="hint">{zone}</span>
            </dd>
          </>
        )}
        {muted !== undefined && (
          <>
            <dt>{text.silentUntil}</dt>
            <dd>
              <Clock at={muted} />
            </dd>
          </>
        )}
        {until !== undefined && (
          <>
            <dt>{text.pausedUntil}</dt>
            <dd>
              <Clock at={until} />
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

function MonitorActs({ monitor }: { monitor: MonitorRecord }) {
  const words = useWords();
  const acts = useActs();
  const [, go] = useLocation();
  const [open, setOpen] = useState<'edit' | 'rotate' | 'delete'>();
  const text = words.monitors;
  const { id, name, status, muted_until: muted } = monitor;
  const params = { id };
  const { silence } = useSilence(id);
  const isSilent = muted !== undefined;
  const pause = (): Promise<unknown> =>
    acts.send('heartbeats.update', { params, body: { paused: true } }, text.paused, stale);
  const close = (): void => setOpen(undefined);
  const isBroken = status === 'down' || status === 'late';
  return (
    <>
      {status === 'paused' && (
        <Button
          look="primary"
          icon="play"
          onPress={() => acts.send('heartbeats.update', { params, body: { paused: false } }, text.resumed, stale)}
        >
          {words.actions.resume}
        </Button>
      )}
      {(isBroken || isSilent) && <Silence id={id} isSilent={isSilent} />}
      <Menu
        label={words.moreActs}
        items={[
          ...(status === 'paused'
            ? []
            : [
                ...(isBroken || isSilent
                  ? []
                  : [
                      {
                        label: text.pauseFor.hour,
                        act: () => silence(new Date(Date.now() + hourMs), text.silenced),
                      },
                    ]),
                { label: text.pauseFor.day, act: () => silence(tomorrow(), text.silencedToTomorrow) },
                { label: text.pauseFor.ever, act: pause },
              ]),
          { label: text.edit, act: () => setOpen('edit') },
          { label: text.rotate, act: () => setOpen('rotate') },
          { label: text.delete, act: () => setOpen('delete'), isDanger: true },
        ]}
      />
      {open === 'edit' && <Edit monitor={monitor} onClose={close} />}
      {open === 'rotate' && <Rotate id={id} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog
          name={name}
          text={text.deleteText(name)}
          onClose={close}
          onDelete={async () => {
            const gone = await acts.run(async () => api.heartbeats.remove({ params }), { done: text.deleted, stale });
            if (gone !== undefined) go('/heartbeats');
          }}
        />
      )}
    </>
  );
}

function Edit({ monitor, onClose }: { monitor: MonitorRecord; onClose: () => void }) {
  const words = useWords();
  const acts = useActs();
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [draft, setDraft] = useState(draftOf(monitor));
  const zone = useZone();
  // Hours that are there stay where they are; new ones are of the person's own zone.
  const tz = (monitor.cron === null ? undefined : monitor.tz) ?? zone;
  const save = async (): Promise<void> => {
    const saved = await acts.run(
      async () => {
        try {
          return await api.heartbeats.update({ params: { id: monitor.id }, body: bodyOf(draft, tz) });
        } catch (error) {
          setProblems(fieldProblems(error, words));
          throw error;
        }
      },
      { stale },
    );
    if (saved) onClose();
  };
  return (
    <Dialog title={words.monitors.edit} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <MonitorForm draft={draft} onDraft={setDraft} problems={problems} tz={tz} />
        <Button look="primary" type="submit">
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}

function Rotate({ id, onClose }: { id: string; onClose: () => void }) {
  const words = useWords();
  const acts = useActs();
  const [url, setUrl] = useState<string>();
  const rotate = async (): Promise<void> => {
    const made = await acts.run(async () => api.heartbeats.rotate({ params: { id } }), { stale });
    if (made) setUrl(made.ping_url);
  };
  return (
    <Dialog title={words.monitors.rotate} onClose={onClose} wide>
      {url === undefined ? (
        <div class="stack">
          <p>{words.monitors.rotateText}</p>
          <Button look="primary" onPress={rotate}>
            {words.monitors.rotate}
          </Button>
        </div>
      ) : (
        <PingLines url={url} />
      )}
    </Dialog>
  );
}
