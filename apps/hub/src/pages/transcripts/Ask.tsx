import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { useDraft } from '../../ui/draft.ts';
import { TextField } from '../../ui/Field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Link } from '../../ui/Link.tsx';
import { useWords } from '../../words/words.tsx';
import { citedParts, clockOf } from './player.rules.ts';
import { type Folder, momentPath, voiceOf } from './transcripts.ts';

type Answer = Awaited<ReturnType<typeof api.transcripts.ask>>;
/** A model reads passages of many recordings. */
const askMs = 180_000;

/** Asks a question across recordings; each source of the answer opens its recording and plays from there. */
export function Ask({ folder, onClose }: { folder: Folder | undefined; onClose: () => void }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const [draft, setDraft] = useDraft('ask', { question: '' });
  const [answer, setAnswer] = useState<Answer>();
  const { question } = draft;
  const ask = async (): Promise<void> => {
    const body = { question: question.trim(), ...(folder && { folder_id: folder.id }) };
    const found = await acts.run(async () => api.transcripts.ask({ body }, { timeoutMs: askMs }));
    if (found) setAnswer(found);
  };
  return (
    <Dialog title={text.askTitle} onClose={onClose} wide>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label={text.question}
          rows={2}
          value={question}
          onInput={(value) => setDraft({ question: value.slice(0, 2_000) })}
          hint={folder ? `${text.questionHint} ${text.askInFolder(folder.name)}.` : text.questionHint}
        />
        <div>
          <Button look="primary" type="submit" onPress={ask} disabled={question.trim() === ''}>
            {text.ask}
          </Button>
        </div>
      </form>
      <div aria-live="polite">{answer && <Answered answer={answer} onClose={onClose} />}</div>
    </Dialog>
  );
}

function Answered({ answer, onClose }: { answer: Answer; onClose: () => void }) {
  const words = useWords();
  const text = words.transcripts;
  const { citations, degraded, transcripts_searched: searched } = answer;
  const pathOf = (n: number): string | undefined => {
    const found = citations.find((one) => one.n === n);
    return found && momentPath(found.transcript_id, found.start_ms);
  };
  return (
    <div class="stack">
      <h3>{text.answer}</h3>
      {degraded.includes('insights') && <p class="hint">{text.passages}</p>}
      <p class="body-text">
        {answer.answer === '' ? text.noAnswer : null}
        {citedParts(answer.answer).map((part, place) => {
          if ('text' in part) return part.text;
          const path = pathOf(part.n);
          if (path === undefined) return `[${part.n}]`;
          return (
            <Link href={path} class="cite" aria-label={text.citation(part.n)} onClick={onClose} key={place}>
              [{part.n}]
            </Link>
          );
        })}
      </p>
      <p class="hint">{text.searched(searched)}</p>
      {citations.length > 0 && (
        <ul class="rows" aria-label={text.sources}>
          {citations.map((one) => (
            <li key={one.n}>
              <Link href={momentPath(one.transcript_id, one.start_ms)} class="row-link" onClick={onClose}>
                <span class="row-main">
                  <span>“{one.quote}”</span>
                  <span class="row-detail">
                    [{one.n}] {one.title} · {voiceOf(one.speaker, one.speaker_name, words)}
                  </span>
                </span>
                <span class="play-at">
                  <Icon name="play" />
                  {clockOf(one.start_ms)}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
