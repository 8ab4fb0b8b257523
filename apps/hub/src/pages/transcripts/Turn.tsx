import { useMemo, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';
import { clockOf, piecesOf } from './player.rules.ts';
import { colourOf, type Speaker, stale, type Utterance, voiceOf } from './transcripts.ts';

/** What one voice says without a break. */
export function Turn({
  transcriptId,
  said,
  words: heard,
  voice,
  speakers,
  isEdited,
  onEdit,
  onPlay,
}: {
  transcriptId: string;
  said: Utterance;
  /** Its words, where they are known. */
  words: Utterance['words'] | undefined;
  voice: { speaker: Speaker; place: number } | undefined;
  speakers: readonly Speaker[];
  isEdited: boolean;
  onEdit: (seq: number | undefined) => void;
  onPlay: (ms: number) => void;
}) {
  const words = useWords();
  const text = words.transcripts;
  const { seq, start_ms: start, text: whole, original_text: original, edited_at: editedAt } = said;
  const [isOriginalShown, setOriginalShown] = useState(false);
  const at = clockOf(start);
  const pieces = useMemo(() => piecesOf(whole, heard ?? []), [whole, heard]);
  return (
    <div class={`turn ${colourOf(voice?.place ?? 0)}`} id={`turn-${seq}`} role="listitem">
      <div class="turn-head">
        <button type="button" class="turn-time" aria-label={text.playFrom(at)} onClick={() => onPlay(start)}>
          {at}
        </button>
        <span class="turn-who">{voiceOf(said.speaker, voice?.speaker.name, words)}</span>
        {original !== null && (
          <button
            type="button"
            class="turn-mark"
            aria-expanded={isOriginalShown}
            onClick={() => setOriginalShown(!isOriginalShown)}
          >
            {editedAt === null ? text.byVocabulary : text.corrected}
            <span class="unseen">, {isOriginalShown ? text.hideOriginal : text.showOriginal}</span>
          </button>
        )}
        <Button look="quiet" icon="edit" isIconOnly onPress={() => onEdit(isEdited ? undefined : seq)}>
          {text.correctAt(at)}
        </Button>
      </div>
      {isEdited ? (
        <Correct transcriptId={transcriptId} said={said} speakers={speakers} onClose={() => onEdit(undefined)} />
      ) : (
        <p class="turn-text" data-seq={seq}>
          {pieces.map(({ text: piece, word }, place) =>
            word === undefined ? (
              piece
            ) : (
              <span data-at={word} key={place}>
                {piece}
              </span>
            ),
          )}
        </p>
      )}
      {isOriginalShown && original !== null && (
        <p class="turn-original">
          {text.heard}: {original}
        </p>
      )}
    </div>
  );
}

/** Corrects text or speaker in place; what was heard is kept and can be had again. */
function Correct({
  transcriptId: id,
  said,
  speakers,
  onClose,
}: {
  transcriptId: string;
  said: Utterance;
  speakers: readonly Speaker[];
  onClose: () => void;
}) {
  const words = useWords();
  const text = words.transcripts;
  const acts = useActs();
  const [draft, setDraft] = useState(said.text);
  const [speaker, setSpeaker] = useState(said.speaker);
  const params = { id, seq: said.seq };
  const write = async (body: { text?: string | null; speaker?: string }, done: string): Promise<void> => {
    const work = async () => api.transcripts.updateUtterance({ params, body });
    if (await acts.run(work, { done, stale })) onClose();
  };
  const save = (): Promise<void> =>
    write(
      {
        ...(draft.trim() !== said.text && { text: draft.trim() }),
        ...(speaker !== said.speaker && { speaker }),
      },
      text.correctedDone,
    );
  const isChanged = (draft.trim() !== said.text && draft.trim() !== '') || speaker !== said.speaker;
  return (
    <form class="stack turn-form" onSubmit={(event) => event.preventDefault()}>
      <TextField label={text.said} rows={4} value={draft} onInput={setDraft} />
      <SelectField
        label={text.saidBy}
        value={speaker}
        onInput={setSpeaker}
        options={speakers.map(({ label, name }) => [label, voiceOf(label, name, words)] as const)}
      />
      <div class="foot">
        <Button look="primary" type="submit" onPress={save} disabled={!isChanged}>
          {words.save}
        </Button>
        {said.edited_at !== null && said.original_text !== null && (
          <Button onPress={() => write({ text: null }, text.asHeardDone)}>{text.asHeard}</Button>
        )}
        <Button look="quiet" onPress={onClose}>
          {words.cancel}
        </Button>
      </div>
    </form>
  );
}
