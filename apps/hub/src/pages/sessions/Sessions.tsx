import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { CurlButton } from '../../ui/Copy.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { isWriting, type SessionRecord, titleOf } from './sessions.ts';

/** Chats that the account's devices share, newest first. */
export function Sessions() {
  const words = useWords();
  const text = words.sessions;
  const answer = useRows<SessionRecord>(['sessions', 'list'], async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { sessions, next_cursor: next } = await api.sessions.list({ query });
    return { rows: sessions, next };
  });
  return (
    <Page title={text.title} lead={text.lead}>
      <Rows
        answer={answer}
        label={text.title}
        empty={<Empty>{text.empty}</Empty>}
        row={(session) => (
          <div class="row">
            <Link href={`/sessions/${session.id}`} class="row-link">
              {isWriting(session) && <Status tone="busy">{text.writes}</Status>}
              <span class="row-main">
                <span class="row-title">{titleOf(session, words)}</span>
                <span class="row-detail">{text.events(session.seq)}</span>
              </span>
              <Time at={session.updated_at} />
            </Link>
          </div>
        )}
      />
      <div class="foot">
        <CurlButton path="/v1/sessions" />
      </div>
    </Page>
  );
}
