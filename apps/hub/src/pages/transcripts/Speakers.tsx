import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { CheckField, TextField } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { duration } from '../../ui/time.rules.ts';
import { useWords } from '../../words/words.tsx';
import { colourOf, type Speaker, stale, voiceOf } from './transcripts.ts';

/** The voices of a recording; a press names one. */
export function Speakers({ id, speakers }: { id: string; speakers: readonly Speaker[] }) {
  const words = useWords();
  const text = words.transcripts;
  const [named, setNamed] = useState<Speaker>();
  if (speakers.length === 0) return null;
  return (
    <Section title={text.speakers}>
      <ul class="voices" aria-label={text.speakers}>
        {speakers.map((speaker, place) => (
          <li class={colourOf(place)} key={speaker.label}>
            <button type="button" class="voice" onClick={() => setNamed(speaker)}>
              <span class="row-title">
                {voiceOf(speaker.label, speaker.name, words)}
                {speaker.is_self && <span class="tag">{text.you}</span>}
              </span>
              <span class="row-detail">{text.talked(duration(Math.round(speaker.talk_ms / 1_000) * 1_000))}</span>
              <span class="unseen">, {text.nameSpeaker}</span>
            </button>
          </li>
        ))}
      </ul>
      {named && (
        <NameSpeaker
          id={id}
          speaker={named}
          others={speakers.flatMap(({ name, label }) => (name !== null && label !== named.label ? [name] : []))}
          onClose={() => setNamed(undefined)}
        />
      )}
    </Section>
  );
}

function NameSpeaker({
  id,
  speaker,
  others,
  onClose,
}: {
  id: string;
  speaker: Speaker;
  others: string[];
  onClose: () => void;
}) {
  const words = useWords();
  const text = words.transcripts;
  const acts = useActs();
  const [name, setName] = useState(speaker.name ?? '');
  const [isSelf, setSelf] = useState(speaker.is_self);
  const save = async (): Promise<void> => {
    const body = { name: name.trim() === '' ? null : name.trim(), is_self: isSelf };
    const work = async () => api.transcripts.updateSpeaker({ params: { id, label: speaker.label }, body });
    if (await acts.run(work, { done: text.speakerNamed, stale })) onClose();
  };
  return (
    <Dialog title={voiceOf(speaker.label, speaker.name, words)} onClose={onClose}>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label={words.name}
          value={name}
          onInput={(value) => setName(value.slice(0, 120))}
          list={others}
          hint={text.nameHint}
        />
        <CheckField label={text.isMe} checked={isSelf} onChange={setSelf} />
        <Button look="primary" type="submit" onPress={save}>
          {words.save}
        </Button>
      </form>
    </Dialog>
  );
}
