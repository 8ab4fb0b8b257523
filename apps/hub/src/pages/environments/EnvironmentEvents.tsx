import { useEffect } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Rows } from '../../ui/List.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords, type Words } from '../../words/words.tsx';
import type { Member, Whole } from './environments.ts';

type Event = Whole['events'][number];
/** Ids in an event tell a reader nothing. */
const idName = /(?:_id|Id)$/;

/** What an event was, in our words where they are known. */
function titleOf({ kind }: Event, words: Words): string {
  const text = words.environmentEvents;
  const [, from, to] = /^state:(\w+)->(\w+)$/.exec(kind) ?? [];
  const states: Record<string, string> = words.environments.states;
  if (from !== undefined && to !== undefined) return text.moved(states[from] ?? from, states[to] ?? to);
  const kinds: Record<string, string> = text.kinds;
  return kinds[kind] ?? kind;
}

/** What happened to an environment, newest first. */
export function EnvironmentEvents({
  id,
  members,
  newest,
}: {
  id: string;
  members: Member[];
  /** Number of the newest event that the page knows of: a newer one is read at once. */
  newest: number | undefined;
}) {
  const words = useWords();
  const text = words.environmentEvents;
  const answer = useRows<Omit<Event, 'id'> & { id: string }>(['environments', id, 'events'], async (cursor) => {
    const query = { limit: 50, ...(cursor !== undefined && { cursor }) };
    const { events, next_cursor: next } = await api.environments.events({ params: { id }, query });
    return { rows: events.map((event) => ({ ...event, id: String(event.id) })), next };
  });
  const known = answer.data?.[0]?.id;
  useEffect(() => {
    if (newest !== undefined && known !== undefined && newest > Number(known)) answer.again();
  }, [newest, known]);
  return (
    <Section title={text.title}>
      <Rows
        answer={answer}
        label={text.title}
        estimate={52}
        empty={<Empty>{text.none}</Empty>}
        row={(event) => <EventRow event={{ ...event, id: Number(event.id) }} members={members} />}
      />
    </Section>
  );
}

function EventRow({ event, members }: { event: Event; members: Member[] }) {
  const words = useWords();
  const text = words.environmentEvents;
  const { actorKind, actorUserId, payload, createdAt } = event;
  const emailOf = (id: unknown): string | undefined => members.find(({ user_id: user }) => user === id)?.email;
  const details = Object.entries(payload).flatMap(([name, value]) => {
    if (name === 'user_id') return emailOf(value) ?? [];
    if (value === null || value === '' || idName.test(name)) return [];
    return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  return (
    <div class="row log-row">
      <span class="row-main">
        <span class="row-title">{titleOf(event, words)}</span>
        <span class="row-detail">
          {[text.by(emailOf(actorUserId) ?? text.actors[actorKind]), ...details].join(' · ')}
        </span>
      </span>
      <Time at={createdAt} />
    </div>
  );
}
