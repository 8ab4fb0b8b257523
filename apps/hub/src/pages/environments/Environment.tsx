import { Link } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { ButtonLink } from '../../ui/Button.tsx';
import { CopyText, CurlButton } from '../../ui/Copy.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { duration } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useLocale, useWords } from '../../words/words.tsx';
import { money } from '../sandboxes/sandboxes.ts';
import { EnvironmentActs } from './EnvironmentActs.tsx';
import { EnvironmentEvents } from './EnvironmentEvents.tsx';
import { isAtLeast, reasonOf, stateTone, type Whole } from './environments.ts';
import { MachineNow, useMachine } from './MachineNow.tsx';
import { Members } from './Members.tsx';
import { Ports } from './Ports.tsx';
import { Secrets } from './Secrets.tsx';

/** One environment: its state, its machine as it is now, ports, members, secrets and what happened. */
export function Environment({ id }: { id: string }) {
  const words = useWords();
  const text = words.environments;
  const answer = useAnswer(['environments', id], async () => api.environments.get({ params: { id } }));
  const machine = useMachine(id);
  const { data } = answer;
  return (
    <Page
      title={data?.environment.name ?? text.title}
      back={{ to: '/environments', label: text.title }}
      acts={
        data && (
          <>
            {data.environment.state === 'running' && isAtLeast(data.role, 'developer') && (
              <ButtonLink to={`/environments/${id}/terminal`} icon="terminal">
                {words.terminal.open}
              </ButtonLink>
            )}
            <EnvironmentActs whole={data} />
          </>
        )
      }
    >
      <Answered answer={answer}>
        {(whole) => (
          <>
            <Facts whole={whole} />
            {whole.environment.state !== 'destroyed' && (
              <>
                <MachineNow answer={machine} members={whole.members} />
                <Ports whole={whole} listeners={machine.data?.ports ?? []} />
                <Members whole={whole} />
                <Secrets id={id} role={whole.role} />
                {isAtLeast(whole.role, 'developer') && <FromTerminal slug={whole.environment.slug} />}
              </>
            )}
          </>
        )}
      </Answered>
      <EnvironmentEvents id={id} members={data?.members ?? []} newest={data?.events[0]?.id} />
      <div class="foot">
        <CurlButton path={`/v1/environments/${id}`} />
      </div>
    </Page>
  );
}

function Facts({ whole: { environment, role } }: { whole: Whole }) {
  const words = useWords();
  const text = words.environments;
  const { locale } = useLocale();
  const reason = reasonOf(environment, words);
  const { projectId } = environment;
  const project = useAnswer(['projects', projectId], async () => api.projects.get({ params: { id: projectId } })).data
    ?.project;
  const { state, deviceId, provider, size, region, startedAt, stoppedAt, lastActivityAt } = environment;
  const since = state === 'running' ? startedAt : state === 'stopped' ? stoppedAt : null;
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={stateTone[state]}>{text.states[state]}</Status>
        {reason !== undefined && <span>{reason}</span>}
        {since !== null && (
          <span class="time">
            {text.since} <Time at={since} />
          </span>
        )}
      </p>
      <dl class="pairs narrow">
        <dt>{text.project}</dt>
        <dd>
          <Link href={`/projects/${projectId}`}>
            <bdi>{project?.name ?? words.open}</bdi>
          </Link>
        </dd>
        <dt>{text.machine}</dt>
        <dd>
          {[text.providers[provider], size !== null && text.sizes[size], region].filter(Boolean).join(' · ')}
          {' · '}
          {deviceId === null ? text.noMachine : <Link href={`/machines/${deviceId}`}>{words.open}</Link>}
        </dd>
        <dt>{text.role}</dt>
        <dd>{text.roles[role]}</dd>
        {environment.publicIp !== null && (
          <>
            <dt>{text.address}</dt>
            <dd>{environment.publicIp}</dd>
          </>
        )}
        {lastActivityAt !== null && (
          <>
            <dt>{text.lastActivity}</dt>
            <dd>
              <Time at={lastActivityAt} />
            </dd>
          </>
        )}
        {environment.hourlyRateMicroEur !== null && (
          <>
            <dt>{text.rate}</dt>
            <dd>{text.anHour(money(environment.hourlyRateMicroEur, locale))}</dd>
          </>
        )}
        {environment.includedHoursUsedSeconds > 0 && (
          <>
            <dt>{text.hours}</dt>
            <dd>{duration(environment.includedHoursUsedSeconds * 1_000)}</dd>
          </>
        )}
      </dl>
    </div>
  );
}

/** How it is reached without a browser. */
function FromTerminal({ slug }: { slug: string }) {
  const text = useWords().environments;
  return (
    <Section title={text.shell}>
      <p class="hint">{text.shellText}</p>
      <CopyText text={`svc env terminal ${slug}`} />
      <p class="hint">{text.sshText}</p>
      <CopyText text={`svc env ssh-config ${slug} >> ~/.ssh/config && ssh svc-${slug}`} />
    </Section>
  );
}
