import { Link } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { CurlButton } from '../../ui/Copy.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Scopes } from '../../ui/Scopes.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Clock, Time } from '../../ui/Time.tsx';
import { useLocale, useWords } from '../../words/words.tsx';
import { KeyActs } from './KeyActs.tsx';
import { KeyRow } from './Keys.tsx';
import { type KeyRecord, keyTone, useAllKeys } from './keys.ts';

/** One key: where it comes from, what it may do, and the keys that it made. */
export function Key({ id }: { id: string }) {
  const words = useWords();
  const text = words.oneKey;
  const answer = useAnswer(['keys', id], async () => api.keys.get({ params: { id } }));
  const all = useAllKeys();
  const children = all.data?.filter(({ parent_id: parent }) => parent === id) ?? [];
  return (
    <Page
      title={answer.data?.name ?? words.keys.title}
      back={{ to: '/keys', label: words.keys.title }}
      acts={answer.data && <KeyActs item={answer.data} />}
    >
      <Answered answer={answer}>{(key) => <Facts item={key} all={all.data ?? []} />}</Answered>
      {children.length > 0 && (
        <Section title={text.children}>
          <ul class="rows">
            {children.map((child) => (
              <li key={child.id}>
                <KeyRow item={child} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <div class="foot">
        <CurlButton path={`/v1/keys/${id}`} />
      </div>
    </Page>
  );
}

function Facts({ item, all }: { item: KeyRecord; all: KeyRecord[] }) {
  const words = useWords();
  const text = words.oneKey;
  const { locale } = useLocale();
  const { status, prefix, last_four: end, parent_id: parentId, connection_id: app } = item;
  const { last_used_at: used, expires_at: ends, created_at: made, spend_cap_micro_usd: cap, models } = item;
  const parent = all.find(({ id }) => id === parentId);
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={keyTone[status]}>{words.keys.statuses[status]}</Status>
        <code>{`${prefix}…${end}`}</code>
      </p>
      <dl class="pairs narrow">
        <dt>{text.madeBy}</dt>
        <dd>
          {parentId === null ? (
            text.byPerson
          ) : parent ? (
            <Link href={`/keys/${parentId}`}>
              <bdi>{parent.name}</bdi>
            </Link>
          ) : (
            text.goneKey
          )}
        </dd>
        {app !== undefined && (
          <>
            <dt>{text.app}</dt>
            <dd>
              <Link href="/connections">{text.anApp}</Link>
            </dd>
          </>
        )}
        <dt>{text.created}</dt>
        <dd>
          <Time at={made} />
        </dd>
        <dt>{words.keys.lastUsed}</dt>
        <dd>
          {used === undefined ? words.never : <Time at={used} />}
          <span class="plain-list">
            <Link href="/me/usage?by=key">{text.usage}</Link>
            <Link href="/me/usage?show=audit">{text.acts}</Link>
          </span>
        </dd>
        <dt>{text.ends}</dt>
        <dd>{ends === undefined ? text.neverEnds : <Clock at={ends} />}</dd>
        <dt>{text.level}</dt>
        <dd>{text.levels[item.tool_level]}</dd>
        <dt>{text.models}</dt>
        <dd>{models === undefined ? text.allModels : models.join(', ')}</dd>
        {cap !== undefined && (
          <>
            <dt>{text.cap}</dt>
            <dd>{(cap / 1_000_000).toLocaleString(locale, { style: 'currency', currency: 'USD' })}</dd>
          </>
        )}
      </dl>
      <Scopes scopes={item.scopes} />
    </div>
  );
}
