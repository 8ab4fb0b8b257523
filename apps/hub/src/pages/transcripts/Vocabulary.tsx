import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { useDraft } from '../../ui/draft.ts';
import { TextField } from '../../ui/Field.tsx';
import { Page } from '../../ui/Page.tsx';
import { Answered, Empty } from '../../ui/State.tsx';
import { useWords } from '../../words/words.tsx';

type Entry = Awaited<ReturnType<typeof api.transcripts.vocabulary>>['entries'][number];
const empty = { term: '', misheard: '' };

/** Names and words of the account, for recordings to come. */
export function Vocabulary() {
  const text = useWords().transcripts;
  const answer = useAnswer(['transcripts', 'vocabulary'], async () => (await api.transcripts.vocabulary()).entries);
  return (
    <Page title={text.vocabulary} back={{ to: '/transcripts', label: text.title }} lead={text.vocabularyLead}>
      <Answered answer={answer}>{(entries) => <Entries entries={entries} onSaved={answer.again} />}</Answered>
      <div class="foot">
        <CurlButton path="/v1/transcript-vocabulary" />
      </div>
    </Page>
  );
}

function Entries({ entries, onSaved }: { entries: readonly Entry[]; onSaved: () => void }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const [draft, setDraft, forget] = useDraft('vocabulary', empty);
  const [isBusy, setBusy] = useState(false);
  /** The API takes the whole list. */
  const put = async (next: readonly Entry[]): Promise<unknown> => {
    setBusy(true);
    const work = async () => api.transcripts.setVocabulary({ body: { entries: [...next] } });
    const saved = await acts.run(work);
    setBusy(false);
    onSaved();
    return saved;
  };
  const add = async (): Promise<void> => {
    const term = draft.term.trim();
    const soundsLike = draft.misheard
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
    const entry: Entry = { term, sounds_like: soundsLike.slice(0, 10), language: null, note: null };
    const others = entries.filter((one) => one.term !== term);
    if (!(await put([...others, entry]))) return;
    acts.say(text.vocabularySaved);
    forget();
  };
  const remove = async (entry: Entry): Promise<void> => {
    if (!(await put(entries.filter((one) => one !== entry)))) return;
    acts.say(text.vocabularySaved, { undo: () => put(entries) });
  };
  return (
    <>
      <form class="stack form" onSubmit={(event) => event.preventDefault()}>
        <div class="pair">
          <TextField
            label={text.term}
            value={draft.term}
            onInput={(term) => setDraft((before) => ({ ...before, term: term.slice(0, 100) }))}
          />
          <TextField
            label={text.soundsLike}
            value={draft.misheard}
            onInput={(misheard) => setDraft((before) => ({ ...before, misheard }))}
            hint={text.soundsLikeHint}
          />
        </div>
        <div>
          <Button look="primary" type="submit" onPress={add} disabled={isBusy || draft.term.trim() === ''}>
            {text.addTerm}
          </Button>
        </div>
      </form>
      {entries.length === 0 ? (
        <Empty>{text.noTerms}</Empty>
      ) : (
        <ul class="rows" aria-label={text.vocabulary}>
          {entries.map((entry) => (
            <li class="row padded" key={entry.term}>
              <span class="row-main">
                <span class="row-title">{entry.term}</span>
                {entry.sounds_like.length > 0 && <span class="row-detail">{entry.sounds_like.join(', ')}</span>}
              </span>
              <Button look="quiet" icon="close" isIconOnly disabled={isBusy} onPress={() => remove(entry)}>
                {text.removeTerm(entry.term)}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
