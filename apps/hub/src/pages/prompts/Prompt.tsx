import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { CopyButton, CurlButton } from '../../ui/Copy.tsx';
import { Link } from '../../ui/Link.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { Status } from '../../ui/Status.tsx';
import { Clock, Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { PromptActs } from './PromptActs.tsx';
import { type PromptRecord, stateTone, titleOf } from './prompts.ts';

/** One prompt: its text, what became of it, and what a model says of the work. */
export function Prompt({ id }: { id: string }) {
  const text = useWords().prompts;
  const answer = useAnswer(['prompts', id], async () => (await api.prompts.get({ params: { id } })).prompt);
  const { data } = answer;
  return (
    <Page
      title={data ? titleOf(data) : text.title}
      back={{ to: '/prompts', label: text.title }}
      acts={data && <PromptActs prompt={data} />}
    >
      <Answered answer={answer}>
        {(prompt) => (
          <>
            <Facts prompt={prompt} />
            <Section title={text.prompt} acts={<CopyButton text={prompt.prompt} />}>
              <p class="body-text said boxed">{prompt.prompt}</p>
            </Section>
            {prompt.report && <Report report={prompt.report} />}
          </>
        )}
      </Answered>
      <div class="foot">
        <CurlButton path={`/v1/prompts/${id}`} />
      </div>
    </Page>
  );
}

function Facts({ prompt }: { prompt: PromptRecord }) {
  const words = useWords();
  const text = words.prompts;
  const { status, source, not_before: from, auto_run: isAuto, waiting_for: waiting, last_turn: turn } = prompt;
  const { run_session_id: session, superseded_by: newer } = prompt;
  return (
    <div class="stack">
      <p class="facts">
        <Status tone={stateTone[status]}>{text.states[status]}</Status>
        <span>
          {source}, <Time at={prompt.created_at} />
        </span>
        {isAuto && <span class="tag">{text.auto}</span>}
        {session !== undefined && <Link href={`/sessions/${session}`}>{text.session}</Link>}
        {newer !== undefined && <Link href={`/prompts/${newer}`}>{text.newer}</Link>}
      </p>
      {from !== undefined && (
        <p>
          {text.from} <Clock at={from} />
        </p>
      )}
      {waiting !== undefined && <p>{text.waitsFor(waiting)}</p>}
      {turn && !turn.ok && <p class="problem">{text.turnFailed(turn.error ?? String(turn.exit_code ?? ''))}</p>}
    </div>
  );
}

function Report({ report }: { report: NonNullable<PromptRecord['report']> }) {
  const text = useWords().prompts;
  const { verdict, summary, changed, remaining } = report;
  return (
    <Section title={text.report}>
      <div class="stack said boxed">
        <p class="facts">
          <Status tone={verdict === 'done' ? 'good' : verdict === 'partial' ? 'warn' : 'bad'}>
            {text.verdicts[verdict]}
          </Status>
        </p>
        <p class="body-text">{summary}</p>
        {changed !== '' && (
          <div>
            <h3>{text.changed}</h3>
            <p class="body-text">{changed}</p>
          </div>
        )}
        {remaining !== '' && (
          <div>
            <h3>{text.remaining}</h3>
            <p class="body-text">{remaining}</p>
          </div>
        )}
      </div>
    </Section>
  );
}
