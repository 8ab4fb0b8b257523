import { api } from '../../api/client.ts';
import { useRows } from '../../api/queries.ts';
import { Link } from '../../ui/Link.tsx';
import { Rows } from '../../ui/List.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { Clock } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { clockOf, markedOf } from './player.rules.ts';
import { momentPath, voiceOf } from './transcripts.ts';

type Hit = Awaited<ReturnType<typeof api.transcripts.search>>['results'][number] & { id: string; isPoor: boolean };

/** What was said, by words, names and meaning; a hit opens its recording at the moment. */
export function Search({ q, folder }: { q: string; folder: string }) {
  const text = useWords().transcripts;
  // Not below `transcripts`: a search is metered, and a change of any recording would ask it again.
  const answer = useRows<Hit>(['transcript-search', { q, folder }], async (cursor) => {
    const query = {
      q,
      limit: 20,
      ...(folder !== '' && { folder_id: folder }),
      ...(cursor !== undefined && { cursor }),
    };
    const { results, next_cursor: next, degraded } = await api.transcripts.search({ query });
    const isPoor = degraded.includes('semantic');
    return { rows: results.map((hit) => ({ ...hit, id: `${hit.transcript_id}-${hit.seq}`, isPoor })), next };
  });
  return (
    <Section title={text.hits}>
      {answer.data?.[0]?.isPoor === true && <p class="hint">{text.onlyWords}</p>}
      <Rows
        answer={answer}
        label={text.hits}
        estimate={96}
        row={(hit) => <HitRow hit={hit} />}
        empty={<Empty>{text.noHits}</Empty>}
      />
    </Section>
  );
}

function HitRow({ hit }: { hit: Hit }) {
  const words = useWords();
  const { transcript_id: id, title, started_at: at, start_ms: ms, snippet, highlights, speaker } = hit;
  return (
    <div class="row">
      <Link href={momentPath(id, ms, false)} class="row-link">
        <span class="row-main">
          <span>
            {markedOf(snippet, highlights).map(({ text, isMarked }, place) =>
              isMarked ? <mark key={place}>{text}</mark> : text,
            )}
          </span>
          <span class="row-detail">
            {title} · {clockOf(ms)} · {voiceOf(speaker.label, speaker.name, words)}
          </span>
        </span>
        <span class="time">
          <Clock at={at} />
        </span>
      </Link>
    </div>
  );
}
