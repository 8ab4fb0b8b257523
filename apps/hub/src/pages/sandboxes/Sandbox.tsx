import { api } from '../../api/client.ts';
import { useAnswer, useRows } from '../../api/queries.ts';
import { ButtonLink } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Frame } from '../../ui/Frame.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered, Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { duration, size } from '../../ui/time.rules.ts';
import { Time } from '../../ui/Time.tsx';
import { useLocale, useWords } from '../../words/words.tsx';
import { Command } from './Command.tsx';
import { Files } from './Files.tsx';
import { Preview } from './Preview.tsx';
import { SandboxActs } from './SandboxActs.tsx';
import { isAlive, money, nameOf, type SandboxRecord, stateTone } from './sandboxes.ts';

type Event = Awaited<ReturnType<typeof api.sandboxes.events>>['events'][number];

/** Where the template `desktop` serves its screen. */
const desktopPort = 6_080;

/** One sandbox: what it is, and what runs in it. */
export function Sandbox({ id }: { id: string }) {
  const words = useWords();
  const text = words.sandboxes;
  const answer = useAnswer(['sandboxes', id], async () => api.sandboxes.get({ params: { id } }));
  const { data } = answer;
  return (
    <Page
      title={data ? nameOf(data, words) : text.title}
      back={{ to: '/sandboxes', label: text.title }}
      acts={data && isAlive(data) && <SandboxActs sandbox={data} />}
    >
      <Answered answer={answer}>{(sandbox) => <Facts sandbox={sandbox} />}</Answered>
      {data?.status === 'running' && (
        <>
          <Section
            title={text.cells}
            acts={
              <ButtonLink to={`/sandboxes/${id}/terminal`} icon="terminal">
                {words.terminal.open}
              </ButtonLink>
            }
          >
            <Frame name="cells" query={{ sandbox: id }} title={text.cells} isAsTall />
          </Section>
          <Command id={id} />
          <Files id={id} />
          <Preview id={id} desktop={data.template === 'desktop' ? desktopPort : undefined} />
        </>
      )}
      <Events id={id} />
      <div class="foot">
        <CurlButton path={`/v1/sandboxes/${id}`} />
      </div>
    </Page>
  );
}

function Facts({ sandbox }: { sandbox: SandboxRecord }) {
  const words = useWords();
  const text = words.sandboxes;
  const { locale } = useLocale();
  const { id, status, template, backend, egress, usage, parent_id: parent, metadata } = sandbox;
  const labels = Object.entries(metadata).filter(([name]) => name !== 'name');
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={stateTone[status]}>{text.states[status]}</Status>
        <span>
          {isAlive(sandbox) ? text.ends : text.ended} <Time at={sandbox.expires_at} />
        </span>
        {parent !== undefined && (
          <span>
            {text.forkOf} <Link href={`/sandboxes/${parent}`}>{nameOf({ id: parent }, words)}</Link>
          </span>
        )}
        {labels.map(([name, value]) => (
          <span class="tag" key={name}>{`${name}: ${value}`}</span>
        ))}
      </p>
      <details>
        <summary>{words.sessions.details}</summary>
        <dl class="pairs narrow">
          <dt>ID</dt>
          <dd>
            <code>{id}</code>
          </dd>
          <dt>{text.template}</dt>
          <dd>
            {template} ({backend})
          </dd>
          <dt>{text.network}</dt>
          <dd>
            {text.networks[egress.mode]}
            {egress.mode === 'allowlist' && `: ${egress.domains.join(', ')}`}
            {egress.mode === 'preset' && `: ${egress.preset}`}
          </dd>
          <dt>{text.created}</dt>
          <dd>
            <Time at={sandbox.created_at} />
          </dd>
          <dt>{text.commands}</dt>
          <dd>{text.commandsText(usage.exec_count, duration(usage.exec_seconds * 1_000))}</dd>
          <dt>{text.cost}</dt>
          <dd>{money(sandbox.cost_micro_eur, locale)}</dd>
        </dl>
      </details>
    </div>
  );
}

/** What an event tells beside its kind; bytes as a size. */
const detailOf = (name: string, value: unknown): string =>
  name.endsWith('_bytes') && typeof value === 'number'
    ? `${name.slice(0, -'_bytes'.length)}: ${size(value)}`
    : `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;

function Events({ id }: { id: string }) {
  const text = useWords().sandboxes;
  const answer = useRows<Event>(['sandboxes', id, 'events'], async (cursor) => {
    const query = { limit: 50, ...(cursor !== undefined && { cursor }) };
    const { events, next_cursor: next } = await api.sandboxes.events({ params: { id }, query });
    return { rows: events, next };
  });
  return (
    <Section title={text.events}>
      <Rows
        answer={answer}
        label={text.events}
        estimate={52}
        empty={<Empty>{text.noEvents}</Empty>}
        row={({ kind, detail, at }) => (
          <div class="row log-row">
            <span class="row-main">
              <span class="row-title">{text.kinds[kind]}</span>
              {Object.entries(detail).map(([name, value]) => (
                <span class="row-detail" key={name}>
                  {detailOf(name, value)}
                </span>
              ))}
            </span>
            <Time at={at} />
          </div>
        )}
      />
    </Section>
  );
}
