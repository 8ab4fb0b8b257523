import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyText, CurlButton } from '../../ui/Copy.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { RunList } from '../schedules/Runs.tsx';
import { Command } from './Command.tsx';
import type { MachineRecord } from './Machines.tsx';

const stale = ['machines', 'overview'];

/** One machine: how it is, what waits for approval on it, and a command with its output as it comes. */
export function Machine({ id }: { id: string }) {
  const words = useWords();
  const answer = useAnswer(['machines', id], async () => api.machines.get({ params: { device_id: id } }));
  const { data } = answer;
  return (
    <Page
      title={data?.name ?? words.machines.title}
      back={{ to: '/machines', label: words.machines.title }}
      acts={data && <MachineActs machine={data} />}
    >
      <Answered answer={answer}>
        {(machine) => (
          <>
            <Facts machine={machine} />
            {machine.approvals_waiting > 0 && <Approvals id={id} />}
            {(machine.serves.includes('hosts') || machine.roots.length > 0 || !machine.online) && (
              <Command id={id} isHere={machine.online} />
            )}
          </>
        )}
      </Answered>
      <Section title={words.runs.title}>
        <RunList query={{ device_id: id }} />
      </Section>
      <div class="foot">
        <CurlButton path={`/v1/machines/${id}`} />
      </div>
    </Page>
  );
}

function Facts({ machine }: { machine: MachineRecord }) {
  const words = useWords();
  const text = words.machines;
  const { online, paused, last_seen: seen, hostname, os, platform, tags, kinds, roots } = machine;
  const facts: [string, string][] = [
    [text.system, [os ?? platform, hostname].filter(Boolean).join(' · ')],
    [text.takes, kinds.map((kind) => words.schedules.kinds[kind]).join(', ')],
    [text.roots, roots.join(', ')],
  ];
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={online ? 'good' : 'warn'}>{online ? text.here : text.away}</Status>
        {paused && <Status tone="rest">{text.paused}</Status>}
        <Time at={seen} />
        {tags.map((tag) => (
          <span class="tag" key={tag}>
            {tag}
          </span>
        ))}
      </p>
      <dl class="pairs">
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <>
              <dt key={`${name}-name`}>{name}</dt>
              <dd key={name}>{value}</dd>
            </>
          ))}
      </dl>
    </div>
  );
}

function Approvals({ id }: { id: string }) {
  const words = useWords();
  const answer = useAnswer(['machines', id, 'approvals'], async () =>
    api.machines.approvals({ params: { device_id: id } }),
  );
  return (
    <Section title={words.machines.approvals}>
      <p class="hint">{words.machines.approvalsHint}</p>
      <Answered answer={answer}>
        {({ approvals }) => (
          <ul class="cards">
            {approvals.map(({ schedule_id: schedule, name, command, line }) => (
              <li class="card warning" key={schedule}>
                <div class="card-text">
                  <h3>{name}</h3>
                  <pre class="card-detail">{command}</pre>
                  <CopyText text={line} />
                </div>
              </li>
            ))}
          </ul>
        )}
      </Answered>
    </Section>
  );
}

function MachineActs({ machine }: { machine: MachineRecord }) {
  const words = useWords();
  const text = words.machines;
  const acts = useActs();
  const [, go] = useLocation();
  const [isForgetting, setForgetting] = useState(false);
  const { device_id: id, name, paused } = machine;
  const params = { device_id: id };
  const set = (isPaused: boolean): Promise<unknown> =>
    acts.send(
      'machines.update',
      { params, body: { paused: isPaused } },
      isPaused ? text.pausedNow : text.resumedNow,
      stale,
    );
  return (
    <>
      {paused && (
        <Button look="primary" icon="play" onPress={() => set(false)}>
          {words.actions.resume}
        </Button>
      )}
      <Menu
        label={words.moreActs}
        items={[
          ...(paused ? [] : [{ label: text.pause, act: () => set(true) }]),
          { label: text.forget, act: () => setForgetting(true), isDanger: true },
        ]}
      />
      {isForgetting && (
        <DeleteDialog
          name={name}
          label={text.forget}
          text={text.forgetText(name)}
          onClose={() => setForgetting(false)}
          onDelete={async () => {
            const gone = await acts.run(async () => api.machines.remove({ params }), { done: text.forgotten, stale });
            if (gone) go('/machines');
          }}
        />
      )}
    </>
  );
}
