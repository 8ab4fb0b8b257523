import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Section } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { PlayButton } from './Insights.tsx';
import { clockOf } from './player.rules.ts';
import { type Bookmark, stale } from './transcripts.ts';

/** Moments that somebody marked. */
export function Bookmarks({
  id,
  bookmarks,
  onPlay,
}: {
  id: string;
  bookmarks: readonly Bookmark[];
  onPlay: (ms: number) => void;
}) {
  const text = useWords().transcripts;
  const acts = useActs();
  const add = (at: number, note: string | null): Promise<unknown> =>
    api.transcripts.bookmark({ params: { id }, body: { at_ms: at, ...(note !== null && { note }) } });
  const remove = async ({ id: bookmarkId, at_ms: at, note }: Bookmark): Promise<void> => {
    const work = async () => api.transcripts.removeBookmark({ params: { id, bookmarkId } });
    if (!(await acts.run(work, { stale }))) return;
    acts.say(text.bookmarkGone, { undo: () => acts.run(async () => add(at, note), { stale }) });
  };
  return (
    <Section title={text.bookmarks}>
      <ul class="rows" aria-label={text.bookmarks}>
        {bookmarks.map((bookmark) => (
          <li class="row" key={bookmark.id}>
            <PlayButton ms={bookmark.at_ms} onPlay={onPlay} />
            <span class="row-main">{bookmark.note}</span>
            <Button look="quiet" icon="close" isIconOnly onPress={() => remove(bookmark)}>
              {text.removeBookmark(clockOf(bookmark.at_ms))}
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
