import { useEffect, useMemo } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { CurlButton } from '../../ui/Copy.tsx';
import { Page } from '../../ui/Page.tsx';
import { Answered } from '../../ui/State.tsx';
import { useWords } from '../../words/words.tsx';
import { Bookmarks } from './Bookmarks.tsx';
import { Facts } from './Facts.tsx';
import { Insights } from './Insights.tsx';
import { Playback } from './playback.ts';
import { Player } from './Player.tsx';
import { clockOf, momentOf } from './player.rules.ts';
import { LiveText } from './Live.tsx';
import { Speakers } from './Speakers.tsx';
import { TranscriptActs } from './TranscriptActs.tsx';
import { stale, type TranscriptRecord } from './transcripts.ts';
import { Turns } from './Turns.tsx';

/** One recording: what was decided, what was said, and its sound. */
export function Transcript({ id }: { id: string }) {
  const words = useWords();
  const text = words.transcripts;
  const playback = useMemo(() => new Playback(), [id]);
  const answer = useAnswer(
    ['transcripts', id],
    async () => (await api.transcripts.get({ params: { id }, query: { words: 'none' } })).transcript,
  );
  const { data } = answer;
  useOpenedAt(playback, data !== undefined);
  return (
    <Page
      title={data?.title ?? text.title}
      back={{ to: '/transcripts', label: text.title }}
      acts={data && <TranscriptActs transcript={data} />}
    >
      <Answered answer={answer}>{(transcript) => <Contents transcript={transcript} playback={playback} />}</Answered>
      <div class="foot">
        <CurlButton path={`/v1/transcripts/${id}?words=none`} />
      </div>
    </Page>
  );
}

/** Goes to the moment that the address names, and plays from there where it says so. */
function useOpenedAt(playback: Playback, isThere: boolean): void {
  const [params] = useSearchParams();
  const [t, play] = [params.get('t'), params.get('play')];
  useEffect(() => {
    const ms = momentOf(t);
    if (!isThere || ms === undefined) return;
    if (play === '1') playback.playFrom(ms);
    else playback.show(ms);
  }, [playback, isThere, t, play]);
}

function Contents({ transcript, playback }: { transcript: TranscriptRecord; playback: Playback }) {
  const text = useWords().transcripts;
  const acts = useActs();
  const { id, insights, tracks, status, audio_purged_at: purged, bookmarks } = transcript;
  const onPlay = (ms: number): void => playback.playFrom(ms);
  const bookmark = async (): Promise<unknown> => {
    const body = { at_ms: Math.round(playback.ms) };
    const work = async () => api.transcripts.bookmark({ params: { id }, body });
    return acts.run(work, { done: text.bookmarked(clockOf(body.at_ms)), stale });
  };
  const hasSound = tracks.length > 0 && status !== 'recording' && purged === null;
  return (
    <>
      <Facts transcript={transcript} />
      {hasSound && <Player transcript={transcript} playback={playback} onBookmark={bookmark} />}
      {insights && <Insights id={id} insights={insights} onPlay={onPlay} />}
      {bookmarks.length > 0 && <Bookmarks id={id} bookmarks={bookmarks} onPlay={onPlay} />}
      <Speakers id={id} speakers={transcript.speakers} />
      {status === 'recording' ? <LiveText id={id} /> : <Turns transcript={transcript} playback={playback} />}
    </>
  );
}
