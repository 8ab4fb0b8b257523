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
import { Clock, Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { NewPrompt } from './NewPrompt.tsx';
import { type PromptRecord, stateTone, titleOf } from './prompts.ts';

const shown = ['active', 'due', 'done', 'dismissed', 'all'] as const;

/** Prompts that wait, run, or are over. */
export function Prompts() {
  const words = useWords();
  const text = words.prompts;
  const [params, setParams] = useSearchParams();
  const [isNew, setNew] = useState(false);
  const status = shown.find((one) => one === params.get('status')) ?? 'active';
  const answer = useRows<PromptRecord>(['prompts', 'list', { status }], async (cursor) => {
    const query = { limit: 100, status, ...(cursor !== undefined && { cursor }) };
    const { prompts, next_cursor: next } = await api.prompts.list({ query });
    return { rows: prompts, next };
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
        value={status}
        onChange={(value) => setParams(value === 'active' ? {} : { status: value }, { replace: true })}
        options={shown.map((one) => [one, text.filters[one]] as const)}
      />
      <Rows
        answer={answer}
        label={text.title}
        row={(prompt) => <PromptRow prompt={prompt} />}
        empty={
          <Empty act={status === 'active' && create}>{status === 'active' ? text.empty : text.emptyFiltered}</Empty>
        }
      />
      <div class="foot">
        <CurlButton path={`/v1/prompts?status=${status}`} />
      </div>
      {isNew && <NewPrompt onClose={() => setNew(false)} />}
    </Page>
  );
}

function PromptRow({ prompt }: { prompt: PromptRecord }) {
  const text = useWords().prompts;
  const { id, status, source, not_before: from, created_at: created, waiting_for: waiting } = prompt;
  return (
    <div class="row">
      <Link href={`/prompts/${id}`} class="row-link">
        <Status tone={stateTone[status]}>{text.states[status]}</Status>
        <span class="row-main">
          <span class="row-title">{titleOf(prompt)}</span>
          <span class="row-detail">
            {source}
            {status === 'open' && from !== undefined && (
              <>
                {` · ${text.from} `}
                <Clock at={from} />
              </>
            )}
            {waiting !== undefined && ` · ${text.waitsFor(waiting)}`}
          </span>
        </span>
        <Time at={created} />
      </Link>
    </div>
  );
}
