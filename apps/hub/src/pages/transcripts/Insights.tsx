import type { ComponentChildren } from 'preact';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Link } from '../../ui/Link.tsx';
import { Section } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { clockOf } from './player.rules.ts';
import type { Insights as Written } from './transcripts.ts';

/** A sentence and what carries it. */
type Cited = Written['decisions'][number] & { owner?: string | null; due?: string | null };

/** What the recording comes to. A tap on a sentence plays what carries it. */
export function Insights({ id, insights, onPlay }: { id: string; insights: Written; onPlay: (ms: number) => void }) {
  const text = useWords().transcripts;
  const { summary, decisions, actions, key_points: points, open_questions: questions, prompts, dropped } = insights;
  return (
    <>
      {summary !== '' && (
        <Section title={text.summary}>
          <div class="stack said boxed">
            <p class="body-text">{summary}</p>
            {insights.stale && <p class="hint">{text.staleInsights}</p>}
            {insights.model === 'extractive' && <p class="hint">{text.extracted}</p>}
            {dropped > 0 && <p class="hint">{text.dropped(dropped)}</p>}
          </div>
        </Section>
      )}
      <Points title={text.decisions} points={decisions} onPlay={onPlay} />
      <Points title={text.actions} points={actions} onPlay={onPlay} />
      <Points title={text.keyPoints} points={points} onPlay={onPlay} />
      <Points title={text.questions} points={questions} onPlay={onPlay} />
      {prompts.length > 0 && (
        <Section title={text.prompts}>
          <ul class="rows">
            {prompts.map((prompt) => (
              <Suggestion id={id} prompt={prompt} key={prompt.index} />
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Points({ title, points, onPlay }: { title: string; points: readonly Cited[]; onPlay: (ms: number) => void }) {
  const text = useWords().transcripts;
  if (points.length === 0) return null;
  const detailOf = ({ owner, due }: Cited): string =>
    [owner && text.owner(owner), due && text.due(due)].filter(Boolean).join(' · ');
  return (
    <Section title={title}>
      <ul class="rows" aria-label={title}>
        {points.map((point, place) => {
          const [first, ...others] = point.citations;
          return (
            <li class="point" key={place}>
              <Sentence ms={first?.start_ms} onPlay={onPlay}>
                <span class="row-title">{point.text}</span>
                {detailOf(point) !== '' && <span class="row-detail">{detailOf(point)}</span>}
              </Sentence>
              {others.map(({ start_ms: ms }, at) => (
                <PlayButton ms={ms} onPlay={onPlay} key={at} />
              ))}
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

/** A sentence as one large button, where something carries it. */
function Sentence({
  ms,
  onPlay,
  children,
}: {
  ms: number | undefined;
  onPlay: (ms: number) => void;
  children: ComponentChildren;
}) {
  if (ms === undefined) return <p class="row-main point-text">{children}</p>;
  return (
    <button type="button" class="row-link point-text" onClick={() => onPlay(ms)}>
      <span class="row-main">{children}</span>
      <span class="play-at">
        <Icon name="play" />
        {clockOf(ms)}
      </span>
    </button>
  );
}

/** Plays from a place. */
export function PlayButton({ ms, onPlay }: { ms: number; onPlay: (ms: number) => void }) {
  const text = useWords().transcripts;
  const at = clockOf(ms);
  return (
    <button type="button" class="play-at" aria-label={text.playFrom(at)} onClick={() => onPlay(ms)}>
      <Icon name="play" />
      {at}
    </button>
  );
}

/** A prompt that the recording asks for; it is kept for later with one press. */
function Suggestion({ id, prompt }: { id: string; prompt: Written['prompts'][number] }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const { index, title, prompt: body, accepted_prompt_id: kept } = prompt;
  const accept = async (): Promise<unknown> => {
    const work = async () => api.transcripts.acceptPrompt({ params: { id, index } });
    return acts.run(work, { done: text.accepted, stale: ['transcripts', 'prompts', 'overview'] });
  };
  return (
    <li class="row padded">
      <span class="row-main">
        <span class="row-title">{title}</span>
        <span class="row-detail body-text">{body}</span>
      </span>
      {kept === null ? (
        <Button icon="add" onPress={accept}>
          {text.accept}
        </Button>
      ) : (
        <Link href={`/prompts/${kept}`} class="button quiet">
          {text.showPrompt}
        </Link>
      )}
    </li>
  );
}
