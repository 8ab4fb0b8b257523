import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { Scopes } from '../../ui/Scopes.tsx';
import { Empty } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Connection = Awaited<ReturnType<typeof api.connections.list>>['connections'][number];

/** Apps that the person let in, and how they are sent away. */
export function ConnectedApps() {
  const words = useWords();
  const answer = useRows<Connection>(['connections', 'list'], async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { connections, next_cursor: next } = await api.connections.list({ query });
    return { rows: connections, next };
  });
  return (
    <Page title={words.connections.title} lead={words.connections.lead}>
      <Rows
        answer={answer}
        label={words.connections.title}
        row={(one) => <ConnectionRow item={one} />}
        empty={<Empty>{words.connections.empty}</Empty>}
      />
      <div class="foot">
        <CurlButton path="/v1/connections" />
      </div>
    </Page>
  );
}

/** Whom and what an app let in. */
function Guests({ item }: { item: Connection }) {
  const text = useWords().connections;
  const { let_in: guests, let_in_total: total } = item;
  return (
    <ul>
      {guests.map(({ kind, name, created_at: at }) => (
        <li key={`${kind} ${name} ${at}`}>
          {text.letInKinds[kind]}
          {name !== '' && (
            <>
              {': '}
              <bdi>{name}</bdi>
            </>
          )}
        </li>
      ))}
      {total > guests.length && <li>{text.andMore(total - guests.length)}</li>}
    </ul>
  );
}

/** What an app changed that nobody changed since. */
function Changes({ item }: { item: Connection }) {
  const text = useWords().connections;
  return (
    <ul>
      {item.changed.map(({ kind, name, created_at: at }) => (
        <li key={`${kind} ${name} ${at}`}>
          {text.changedKinds[kind]}
          {name !== '' && (
            <>
              {': '}
              <bdi>{name}</bdi>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function ConnectionRow({ item }: { item: Connection }) {
  const words = useWords();
  const text = words.connections;
  const acts = useActs();
  const [isOpen, setOpen] = useState(false);
  const { id, name, trust, host, scopes, last_used_at: used, ends_at: ends, let_in_total: total } = item;
  const disconnect = async (): Promise<void> => {
    const gone = await acts.run(async () => api.connections.disconnect({ params: { id } }), {
      done: text.disconnected,
      stale: ['connections', 'keys'],
    });
    if (gone) setOpen(false);
  };
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          <bdi>{name}</bdi>
        </span>
        <span class="row-detail">
          {text.trusts[trust]}
          {host !== undefined && (
            <>
              {' · '}
              <bdi>{host}</bdi>
            </>
          )}
          {' · '}
          {words.keys.lastUsed} {used === undefined ? words.never : <Time at={used} />}
          {ends !== undefined && (
            <>
              {' · '}
              {text.ends} <Time at={ends} />
            </>
          )}
        </span>
        <Scopes scopes={scopes} />
        {total > 0 && (
          <details class="scopes">
            <summary>{text.letIn(total)}</summary>
            <Guests item={item} />
          </details>
        )}
        {item.changed.length > 0 && (
          <details class="scopes">
            <summary>{text.changed(item.changed.length)}</summary>
            <Changes item={item} />
          </details>
        )}
      </span>
      <Button look="danger" onPress={() => setOpen(true)}>
        {text.disconnect}
      </Button>
      {isOpen && (
        <Dialog title={text.disconnect} onClose={() => setOpen(false)}>
          <div class="stack">
            <p>{text.disconnectText(name)}</p>
            {total > 0 && (
              <>
                <p>{text.takenBackText(total)}</p>
                <Guests item={item} />
              </>
            )}
            {item.changed.length > 0 && (
              <>
                <p>{text.changedText}</p>
                <Changes item={item} />
              </>
            )}
            <Button look="danger" onPress={disconnect}>
              {text.disconnect}
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
