import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { Scopes } from '../../ui/Scopes.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { KeyActs } from './KeyActs.tsx';
import { type KeyRecord, keyTone, useAllKeys } from './keys.ts';
import { NewKey } from './NewKey.tsx';

/** The account's API keys. */
export function Keys() {
  const words = useWords();
  const [isNew, setNew] = useState(false);
  const answer = useRows<KeyRecord>(['keys', 'list'], async (cursor) => {
    const { keys, next_cursor: next } = await api.keys.list({
      query: { limit: 100, ...(cursor !== undefined && { cursor }) },
    });
    return { rows: keys, next };
  });
  return (
    <Page
      title={words.keys.title}
      lead={words.keys.lead}
      acts={
        <Button look="primary" icon="add" onPress={() => setNew(true)}>
          {words.keys.new}
        </Button>
      }
    >
      <Rows
        answer={answer}
        label={words.keys.title}
        row={(one) => <KeyRow item={one} />}
        empty={<Empty>{words.keys.empty}</Empty>}
      />
      <div class="foot">
        <CurlButton path="/v1/keys" />
      </div>
      {isNew && <NewKey onClose={() => setNew(false)} />}
    </Page>
  );
}

/** A key as a row: its page has the rest. */
export function KeyRow({ item }: { item: KeyRecord }) {
  const words = useWords();
  const text = words.keys;
  const { id, name, prefix, last_four: end, status, scopes, last_used_at: used, expires_at: ends } = item;
  const parentId = item.parent_id;
  const parent = useAllKeys().data?.find((one) => one.id === parentId);
  return (
    <div class="row padded">
      <span class="row-main">
        <Link href={`/keys/${id}`} class="row-title">
          <bdi>{name}</bdi> <code class="hint">{`${prefix}…${end}`}</code>
        </Link>
        <span class="row-detail">
          {text.lastUsed} {used === undefined ? words.never : <Time at={used} />}
          {ends !== undefined && (
            <>
              {' · '}
              {text.ends} <Time at={ends} />
            </>
          )}
          {item.connection_id !== undefined && ` · ${words.oneKey.anApp}`}
          {parent && ` · ${words.oneKey.madeByRow(parent.name)}`}
        </span>
        <Scopes scopes={scopes} />
      </span>
      <Status tone={keyTone[status]}>{text.statuses[status]}</Status>
      <KeyActs item={item} />
    </div>
  );
}
