import { api } from '../../api/client.ts';
import { useConnection } from '../../api/connection.ts';
import { type Answer, useAnswer } from '../../api/queries.ts';
import { Section } from '../../ui/Page.tsx';
import { Loading } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import type { Member } from './environments.ts';

type Machine = Awaited<ReturnType<typeof api.relay.status>>;
type Git = NonNullable<Machine['git_state']>;

/** What a machine does now stands in no feed: it is asked while its page is in view, and not without a network. */
const everyMs = 3_000;

/** What the relay knows of an environment's machine. */
export function useMachine(id: string): Answer<Machine> {
  const { isOnline } = useConnection();
  const every = isOnline ? { everyMs } : {};
  return useAnswer(['environments', id, 'status'], async () => api.relay.status({ params: { id } }), every);
}

/** The machine as it is now: whether it is here, git, locks, and who is attached. */
export function MachineNow({ answer, members }: { answer: Answer<Machine>; members: Member[] }) {
  const words = useWords();
  const text = words.environments;
  const { data, error } = answer;
  return (
    <Section title={text.now}>
      {data === undefined && error === undefined && <Loading rows={1} />}
      {data === undefined && error !== undefined && <p class="box note">{text.statusFailed}</p>}
      {data !== undefined &&
        (data.last_heartbeat === null ? (
          <p class="hint">{text.neverSeen}</p>
        ) : (
          <Report machine={data} seen={data.last_heartbeat} members={members} />
        ))}
    </Section>
  );
}

function Report({ machine, seen, members }: { machine: Machine; seen: number; members: Member[] }) {
  const words = useWords();
  const text = words.environments;
  const { online, usable, git_state: git, locks, attached, daemon } = machine;
  const nameOf = (id: string): string => members.find(({ user_id: user }) => user === id)?.email ?? id.slice(0, 8);
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={online ? 'good' : 'warn'} {...(!online && { icon: 'away' as const })}>
          {online ? text.here : text.away}
        </Status>
        {online && <Status tone={usable ? 'good' : 'bad'}>{usable ? text.usable : text.unusable}</Status>}
        <span class="time">
          {text.seen} <Time at={seen} />
        </span>
      </p>
      <dl class="pairs narrow">
        <dt>{text.git}</dt>
        <dd>{git === null ? text.noGit : <GitState git={git} />}</dd>
        {git !== null && git.worktrees.length > 1 && (
          <>
            <dt>{text.worktrees}</dt>
            <dd>
              {git.worktrees.map(({ path, branch, dirty }) => (
                <div key={path}>
                  <code>{path}</code> {branch ?? text.detached}, {dirty ? text.dirty : text.clean}
                </div>
              ))}
            </dd>
          </>
        )}
        {locks.length > 0 && (
          <>
            <dt>{text.locks}</dt>
            <dd>
              {locks.map(({ name, holder, since }) => (
                <div key={name}>
                  <code>{name}</code> {holder} <Time at={since} />
                </div>
              ))}
            </dd>
          </>
        )}
        <dt>{text.attached}</dt>
        <dd>
          {attached.length === 0
            ? text.nobody
            : attached.map(({ client_id: client, user_id: user, kind, name, attached_at: at }) => (
                <div key={`${client}-${kind}`}>
                  {nameOf(user)}
                  {name !== null && ` (${name})`}: {text.kinds[kind]} <Time at={at} />
                </div>
              ))}
        </dd>
        {daemon !== null && (
          <>
            <dt>{text.daemon}</dt>
            <dd>
              {daemon.daemon_version} · {daemon.os} {daemon.arch}
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

function GitState({ git }: { git: Git }) {
  const text = useWords().environments;
  const { branch, dirty, ahead, behind } = git;
  return (
    <>
      <code>{branch ?? text.detached}</code>{' '}
      {[dirty ? text.dirty : text.clean, ahead > 0 && text.ahead(ahead), behind > 0 && text.behind(behind)]
        .filter(Boolean)
        .join(', ')}
    </>
  );
}
