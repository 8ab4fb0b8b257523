import { useState } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Button } from '../../ui/Button.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Rows } from '../../ui/List.tsx';
import { Empty } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Act = Awaited<ReturnType<typeof api.audit.list>>['acts'][number];
const names = ['action', 'subject', 'since', 'until'] as const;
type Wanted = Record<(typeof names)[number], string>;

/** The instant that a field of the browser holds; undefined: none. */
const instantOf = (local: string): string | undefined => {
  const date = new Date(local);
  return local === '' || Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

/** Who did what, newest first; the filters stand in the address. */
export function Audit() {
  const words = useWords();
  const text = words.audit;
  const [params, setParams] = useSearchParams();
  const wanted = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Wanted;
  const answer = useRows<Act>(['audit', 'list', wanted], async (cursor) => {
    const { action, subject } = wanted;
    const [since, until] = [instantOf(wanted.since), instantOf(wanted.until)];
    const query = {
      limit: 50,
      ...(action !== '' && { action }),
      ...(subject !== '' && { subject }),
      ...(since !== undefined && { since }),
      ...(until !== undefined && { until }),
      ...(cursor !== undefined && { cursor }),
    };
    const { acts, next_cursor: next } = await api.audit.list({ query });
    return { rows: acts, next };
  });
  const show = (next: Partial<Wanted>): void => {
    const filled = Object.entries(next).filter(([, value]) => value.trim() !== '');
    setParams({ show: 'audit', ...Object.fromEntries(filled.map(([name, value]) => [name, value.trim()])) });
  };
  return (
    <>
      <Filters key={names.map((name) => wanted[name]).join('|')} wanted={wanted} onShow={show} />
      <Rows
        answer={answer}
        label={words.usage.views.audit}
        estimate={84}
        empty={<Empty>{text.empty}</Empty>}
        row={(act) => <ActRow act={act} />}
      />
    </>
  );
}

function Filters({ wanted, onShow }: { wanted: Wanted; onShow: (wanted: Partial<Wanted>) => void }) {
  const text = useWords().audit;
  const [draft, setDraft] = useState(wanted);
  const set = (name: keyof Wanted) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  const isFiltered = names.some((name) => wanted[name] !== '');
  return (
    <form
      class="stack form"
      onSubmit={(event) => {
        event.preventDefault();
        onShow(draft);
      }}
    >
      <div class="pair">
        <TextField label={text.action} value={draft.action} onInput={set('action')} hint={text.actionHint} isCode />
        <TextField label={text.subject} value={draft.subject} onInput={set('subject')} hint={text.subjectHint} isCode />
      </div>
      <div class="pair">
        <TextField label={text.since} type="datetime-local" value={draft.since} onInput={set('since')} />
        <TextField label={text.until} type="datetime-local" value={draft.until} onInput={set('until')} />
      </div>
      <div class="page-acts">
        <Button type="submit">{text.show}</Button>
        {isFiltered && (
          <Button look="quiet" onPress={() => onShow({})}>
            {text.clear}
          </Button>
        )}
      </div>
    </form>
  );
}

function ActRow({ act }: { act: Act }) {
  const words = useWords();
  const text = words.audit;
  const { at, who, key, account, address, action, subject, details, trace_id: trace } = act;
  const whose = key?.name === undefined ? text.who[who] : text.byKey(key.name);
  const hasDetails = Object.keys(details).length > 0 || trace !== undefined;
  return (
    <div class="row log-row">
      <span class="row-main">
        <span class="row-title">
          <code>{action}</code>
        </span>
        <span class="row-detail">
          {[account && (account.email ?? account.id), whose, address, subject].filter(Boolean).join(' · ')}
        </span>
        {hasDetails && (
          <details>
            <summary>{text.details}</summary>
            <pre class="body">{JSON.stringify(details, null, 2)}</pre>
            {trace !== undefined && (
              <p class="hint">
                {text.trace} {trace}
              </p>
            )}
          </details>
        )}
      </span>
      <Time at={at} />
    </div>
  );
}
