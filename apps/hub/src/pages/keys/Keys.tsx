import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { Rows } from '../../ui/List.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Page } from '../../ui/Page.tsx';
import { Scopes } from '../../ui/Scopes.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status, type Tone } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { NewKey } from './NewKey.tsx';

type Key = Awaited<ReturnType<typeof api.keys.list>>['keys'][number];
const tones: Record<Key['status'], Tone> = { active: 'good', paused: 'rest', revoked: 'bad' };
const stale = ['keys', 'connections'];

/** The account's API keys. */
export function Keys() {
  const words = useWords();
  const [isNew, setNew] = useState(false);
  const answer = useRows<Key>(['keys', 'list'], async (cursor) => {
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

function KeyRow({ item }: { item: Key }) {
  const words = useWords();
  const text = words.keys;
  const acts = useActs();
  const [isRevoking, setRevoking] = useState(false);
  const { id, name, prefix, last_four: end, status, scopes, last_used_at: used, expires_at: ends } = item;
  const set = (next: 'active' | 'paused'): Promise<unknown> =>
    acts.run(async () => api.keys.update({ params: { id }, body: { status: next } }), {
      done: next === 'paused' ? text.paused : text.resumed,
      stale,
    });
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          {name} <code class="hint">{`${prefix}…${end}`}</code>
        </span>
        <span class="row-detail">
          {text.lastUsed} {used === undefined ? words.never : <Time at={used} />}
          {ends !== undefined && (
            <>
              {' · '}
              {text.ends} <Time at={ends} />
            </>
          )}
        </span>
        <Scopes scopes={scopes} />
      </span>
      <Status tone={tones[status]}>{text.statuses[status]}</Status>
      {status !== 'revoked' && (
        <Menu
          label={words.moreActs}
          items={[
            status === 'paused'
              ? { label: words.actions.resume, act: () => set('active') }
              : { label: words.actions.pause, act: () => set('paused') },
            { label: text.revoke, act: () => setRevoking(true), isDanger: true },
          ]}
        />
      )}
      {isRevoking && (
        <DeleteDialog
          name={name}
          label={text.revoke}
          text={text.revokeText(name)}
          onClose={() => setRevoking(false)}
          onDelete={async () => {
            if (await acts.run(async () => api.keys.revoke({ params: { id } }), { done: text.revoked, stale }))
              setRevoking(false);
          }}
        />
      )}
    </div>
  );
}
