import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer, useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { useDraft } from '../../ui/draft.ts';
import { TextField } from '../../ui/Field.tsx';
import { Rows } from '../../ui/List.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered, Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { useFollowed } from './followed.ts';
import { joined } from './pieces.rules.ts';
import { isWriting, type SessionEntry, type SessionRecord, titleOf } from './sessions.ts';

const pageSize = 200;
const stale = ['sessions'];

/** One session: what was said in it as it comes, and a line to its device. */
export function Session({ id }: { id: string }) {
  const words = useWords();
  const text = words.sessions;
  const answer = useAnswer(['sessions', id], async () => api.sessions.get({ params: { id } }));
  const { data } = answer;
  return (
    <Page
      title={data ? titleOf(data, words) : text.title}
      back={{ to: '/sessions', label: text.title }}
      acts={data && <SessionActs session={data} />}
    >
      <Answered answer={answer}>
        {(session) => (
          <>
            <p class="facts">
              <Status tone={isWriting(session) ? 'busy' : 'rest'}>
                {isWriting(session) ? text.writes : text.rests}
              </Status>
              <Time at={session.updated_at} />
            </p>
            <Events session={session} />
            <Say id={id} />
          </>
        )}
      </Answered>
      <div class="foot">
        <CurlButton path={`/v1/sessions/${id}/events`} />
      </div>
    </Page>
  );
}

function Events({ session }: { session: SessionRecord }) {
  const text = useWords().sessions;
  const { id, seq } = session;
  const [start, setStart] = useState(() => Math.max(0, seq - pageSize));
  const answer = useRows<SessionEntry & { id: string }>(['sessions', id, 'events', start], async (cursor) => {
    const query = { after: Number(cursor ?? start), limit: pageSize };
    const { events, seq: newest } = await api.sessions.events({ params: { id }, query });
    const last = events.at(-1)?.seq;
    const rows = events.map((event) => ({ ...event, id: `${event.seq}` }));
    return { rows, ...(last !== undefined && last < newest && { next: String(last) }) };
  });
  const { hasMore, isLoadingMore } = answer;
  useEffect(() => {
    if (hasMore && !isLoadingMore) answer.more();
  }, [hasMore, isLoadingMore]);
  const { data } = answer;
  const newest = data && !hasMore ? (data.at(-1)?.seq ?? start) : undefined;
  const live = useFollowed(id, newest);
  const shown = data && joined([...data, ...live.filter((event) => event.seq > (data.at(-1)?.seq ?? start))]);
  return (
    <Section
      title={text.log}
      acts={start > 0 && <Button onPress={() => setStart(Math.max(0, start - pageSize))}>{text.earlier}</Button>}
    >
      <Rows
        answer={{ ...answer, data: shown?.map((one) => ({ ...one, id: String(one.seq) })) }}
        label={text.log}
        row={(event) => <EventRow event={event} />}
        empty={<Empty>{text.emptyLog}</Empty>}
      />
    </Section>
  );
}

function EventRow({ event }: { event: SessionEntry }) {
  const text = useWords().sessions;
  const { type, role, text: said, data, at } = event;
  const byRole: Record<string, string> = text.roles;
  const who = role === undefined ? text.kinds[type] : (byRole[role] ?? role);
  return (
    <div class="row log-row">
      <span class="row-main">
        <span class="card-kind">{who}</span>
        {said !== undefined && said !== '' && <span class="body-text">{said}</span>}
        {data && Object.keys(data).length > 0 && (
          <details>
            <summary>{text.details}</summary>
            <pre class="body">{JSON.stringify(data, null, 2)}</pre>
          </details>
        )}
      </span>
      <Time at={at} />
    </div>
  );
}

/** Asks the device that writes, or wrote last, to go on with a message. */
function Say({ id }: { id: string }) {
  const text = useWords().sessions;
  const acts = useActs();
  const [draft, setDraft, forget] = useDraft(`say-${id}`, { message: '' });
  const { message } = draft;
  const send = async (): Promise<void> => {
    const input = { params: { id }, body: { type: 'send', text: message } };
    if (await acts.send('sessions.sendControl', input, text.sent, stale)) forget();
  };
  return (
    <form class="stack" onSubmit={(event) => event.preventDefault()}>
      <TextField
        label={text.message}
        rows={3}
        value={message}
        onInput={(value) => setDraft({ message: value })}
        hint={text.messageHint}
      />
      <div>
        <Button look="primary" type="submit" onPress={send} disabled={message.trim() === ''}>
          {text.send}
        </Button>
      </div>
    </form>
  );
}

function SessionActs({ session }: { session: SessionRecord }) {
  const words = useWords();
  const text = words.sessions;
  const acts = useActs();
  const [, go] = useLocation();
  const [isDeleting, setDeleting] = useState(false);
  const params = { id: session.id };
  const name = titleOf(session, words);
  return (
    <>
      {isWriting(session) && (
        <Button
          onPress={() => acts.send('sessions.sendControl', { params, body: { type: 'stop' } }, text.stopAsked, stale)}
        >
          {text.stop}
        </Button>
      )}
      <Menu label={words.moreActs} items={[{ label: text.delete, act: () => setDeleting(true), isDanger: true }]} />
      {isDeleting && (
        <DeleteDialog
          name={name}
          label={text.delete}
          text={text.deleteText(name)}
          onClose={() => setDeleting(false)}
          onDelete={async () => {
            const gone = await acts.run(async () => api.sessions.remove({ params }), { done: text.deleted, stale });
            if (gone) go('/sessions');
          }}
        />
      )}
    </>
  );
}
