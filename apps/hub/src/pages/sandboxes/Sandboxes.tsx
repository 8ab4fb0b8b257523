import { useState } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Filter } from '../../ui/Filter.tsx';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Page } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Time } from '../../ui/Time.tsx';
import { useLocale, useWords } from '../../words/words.tsx';
import { forkTree } from './forks.rules.ts';
import { NewSandbox } from './NewSandbox.tsx';
import { isAlive, money, nameOf, type SandboxRecord, stateTone } from './sandboxes.ts';

const shownStates = ['running', 'paused', 'expired', 'stopped'] as const;
const deepest = 4;

/** Every sandbox, forks below what they were forked from. */
export function Sandboxes() {
  const words = useWords();
  const text = words.sandboxes;
  const [params, setParams] = useSearchParams();
  const [isNew, setNew] = useState(false);
  const status = shownStates.find((state) => state === params.get('status'));
  const answer = useRows<SandboxRecord>(['sandboxes', 'list', { status: status ?? '' }], async (cursor) => {
    const query = { limit: 100, ...(status && { status }), ...(cursor !== undefined && { cursor }) };
    const { data, next_cursor: next } = await api.sandboxes.list({ query });
    return { rows: data, next };
  });
  const create = (
    <Button look="primary" icon="add" onPress={() => setNew(true)}>
      {text.new}
    </Button>
  );
  return (
    <Page title={text.title} acts={create}>
      <Filter
        label={text.title}
        value={status ?? ''}
        onChange={(value) => setParams(value === '' ? {} : { status: value }, { replace: true })}
        options={[['', words.all], ...shownStates.map((state) => [state, text.states[state]] as const)]}
      />
      <Rows
        answer={{ ...answer, data: answer.data && forkTree(answer.data) }}
        label={text.title}
        row={(sandbox) => <SandboxRow sandbox={sandbox} />}
        empty={<Empty act={!status && create}>{status ? text.emptyFiltered : text.empty}</Empty>}
      />
      <div class="foot">
        <CurlButton path="/v1/sandboxes" />
      </div>
      {isNew && <NewSandbox onClose={() => setNew(false)} />}
    </Page>
  );
}

function SandboxRow({ sandbox }: { sandbox: SandboxRecord & { depth: number } }) {
  const words = useWords();
  const text = words.sandboxes;
  const { locale } = useLocale();
  const { id, status, template, expires_at: ends, cost_micro_eur: cost, depth } = sandbox;
  return (
    <div class={`row fork-${Math.min(depth, deepest)}`}>
      <Link href={`/sandboxes/${id}`} class="row-link">
        <Status tone={stateTone[status]}>{text.states[status]}</Status>
        <span class="row-main">
          <span class="row-title">{nameOf(sandbox, words)}</span>
          <span class="row-detail">
            {template}
            {cost > 0 && ` · ${money(cost, locale)}`}
          </span>
        </span>
        {isAlive(sandbox) && (
          <span class="time">
            {text.ends} <Time at={ends} />
          </span>
        )}
      </Link>
    </div>
  );
}
