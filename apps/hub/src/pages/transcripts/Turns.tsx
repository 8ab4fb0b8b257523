import { useQueryClient } from '@tanstack/preact-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { Button } from '../../ui/Button.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/State.tsx';
import { useWords } from '../../words/words.tsx';
import { offsetAt } from './caret.ts';
import { type Playback, useFrames } from './playback.ts';
import { type Moment, momentAt, piecesOf, type Span, spanAround } from './player.rules.ts';
import { Turn } from './Turn.tsx';
import { type TranscriptRecord, type Utterance } from './transcripts.ts';

type WordsOf = ReadonlyMap<number, NonNullable<Utterance['words']>>;

const wordsKey = (id: string, { fromMs }: Span): (string | number)[] => ['transcripts', id, 'words', fromMs];
const askWords =
  (id: string, { fromMs, toMs }: Span) =>
  async () =>
    (await api.transcripts.words({ params: { id }, query: { from_ms: fromMs, to_ms: toMs } })).utterances;
const byUtterance = (utterances: readonly Utterance[]): WordsOf =>
  new Map(utterances.flatMap(({ seq, words }) => (words && words.length > 0 ? [[seq, words] as const] : [])));

/** What was said, turn by turn. A tap on a word plays from it, and the word that is heard is marked. */
export function Turns({ transcript, playback }: { transcript: TranscriptRecord; playback: Playback }) {
  const text = useWords().transcripts;
  const { id, utterances, speakers, status } = transcript;
  const [span, setSpan] = useState(() => spanAround(playback.ms));
  const [edited, setEdited] = useState<number>();
  const client = useQueryClient();
  const heard = useAnswer(wordsKey(id, span), askWords(id, span), { kept: false });
  const words = useMemo(() => byUtterance(heard.data ?? []), [heard.data]);
  useEffect(() => playback.listen(() => setSpan((before) => spanAround(playback.ms, before))), [playback]);
  const moments = useMemo(() => momentsOf(utterances, words), [utterances, words]);
  const isBehind = useFollowing(playback, moments);
  const voices = useMemo(
    () => new Map(speakers.map((speaker, place) => [speaker.label, { speaker, place }])),
    [speakers],
  );

  /** What is corrected stays in sight, wherever the sound is. */
  const edit = (seq: number | undefined): void => {
    playback.unfollow();
    setEdited(seq);
    // The focus goes into the form, and back to its button when the form is closed.
    const wanted = seq === undefined ? `#turn-${edited} .turn-head > .button` : `#turn-${seq} textarea`;
    requestAnimationFrame(() => document.querySelector<HTMLElement>(wanted)?.focus());
  };
  const tap = async (event: MouseEvent): Promise<void> => {
    const target = event.target as Element;
    const line = target.closest<HTMLElement>('.turn-text');
    const said = utterances.find(({ seq }) => seq === Number(line?.dataset['seq']));
    // A press that ends a selection selects, and does not play.
    if (!line || !said || getSelection()?.isCollapsed === false) return;
    const offset = offsetAt(line, event);
    const span = spanAround(said.start_ms);
    const known =
      words.get(said.seq) ??
      byUtterance(
        await client.fetchQuery({ queryKey: wordsKey(id, span), queryFn: askWords(id, span) }).catch(() => []),
      ).get(said.seq);
    playback.playFrom(startAt(said, known ?? [], offset));
  };
  if (utterances.length === 0)
    return (
      <Section title={text.text}>
        <Empty>{status === 'ready' ? text.nothingHeard : text.noTextYet}</Empty>
      </Section>
    );
  return (
    <Section title={text.text}>
      <a class="skip" href="#after-text">
        {text.skipText}
      </a>
      <div class="turns" role="list" onClick={(event) => void tap(event)}>
        {partsOf(utterances).map((part) => (
          <div class="turns-part" key={part[0]?.seq}>
            {part.map((said) => (
              <Turn
                key={said.seq}
                transcriptId={id}
                said={said}
                words={said.edited_at === null ? words.get(said.seq) : undefined}
                voice={voices.get(said.speaker)}
                speakers={speakers}
                isEdited={edited === said.seq}
                onEdit={edit}
                onPlay={(ms) => playback.playFrom(ms)}
              />
            ))}
          </div>
        ))}
      </div>
      <span id="after-text" tabIndex={-1} />
      {isBehind && edited === undefined && (
        <div class="to-now">
          <Button look="primary" onPress={() => playback.follow()}>
            {text.backToNow}
          </Button>
        </div>
      )}
    </Section>
  );
}

/** The browser looks at each part with each step of scrolling, and lays out those that come into view, whole. */
const turnsOfPart = 5;
const partsOf = (all: readonly Utterance[]): Utterance[][] =>
  Array.from({ length: Math.ceil(all.length / turnsOfPart) }, (_, at) =>
    all.slice(at * turnsOfPart, (at + 1) * turnsOfPart),
  );

/** When each word begins; of an utterance whose words are not here, when it begins itself. */
function momentsOf(utterances: readonly Utterance[], words: WordsOf): Moment[] {
  const moments = utterances.flatMap(({ seq, start_ms: startMs, edited_at: editedAt }): Moment[] => {
    const own = editedAt === null ? words.get(seq) : undefined;
    return own?.map((word, at) => ({ startMs: word.start_ms, seq, at })) ?? [{ startMs, seq, at: -1 }];
  });
  // Two tracks speak at once.
  return moments.sort((one, other) => one.startMs - other.startMs);
}

/** The beginning of the word at a place of an utterance's text; where a person wrote the text, about there. */
function startAt(said: Utterance, words: NonNullable<Utterance['words']>, offset: number): number {
  const { text, start_ms: from, end_ms: to } = said;
  if (said.edited_at !== null || words.length === 0)
    return Math.round(from + ((to - from) * offset) / Math.max(1, text.length));
  let done = 0;
  let found = from;
  for (const { text: piece, word } of piecesOf(text, words)) {
    if (word !== undefined) found = words[word]?.start_ms ?? found;
    done += piece.length;
    if (done > offset) break;
  }
  return found;
}

/** Height of what stands over the text at the top and the foot of the window. */
const covered = { top: 80, foot: 180 };
const intentMs = 1_000;

/** Marks what is heard, and scrolls along until the reader scrolls; answers whether the sound goes on somewhere else. */
function useFollowing(playback: Playback, moments: readonly Moment[]): boolean {
  const marked = useRef<Element[]>([]);
  const jumps = useRef(0);
  /** When the reader last did what scrolls. */
  const wishedAt = useRef(-intentMs);
  const [isBehind, setBehind] = useState(false);
  const paint = useCallback(() => {
    const moment = moments[momentAt(moments, playback.ms)];
    const turn = moment && document.querySelector(`#turn-${moment.seq}`);
    const word = turn?.querySelector(`[data-at="${moment?.at}"]`);
    const now = [turn, word].filter((one) => one !== null && one !== undefined);
    const isSame = now.length === marked.current.length && now.every((one, at) => one === marked.current[at]);
    if (isSame && jumps.current === playback.jumps) return;
    for (const one of marked.current) one.classList.remove('now');
    for (const one of now) one.classList.add('now');
    marked.current = now;
    // A place that was asked for is newer than any wish to scroll.
    if (jumps.current !== playback.jumps) wishedAt.current = -intentMs;
    jumps.current = playback.jumps;
    if (playback.isFollowing) reveal(now.at(-1));
  }, [playback, moments]);
  useFrames(playback, paint);
  useEffect(() => playback.listen(() => setBehind(playback.isPlaying && !playback.isFollowing)), [playback]);
  useEffect(() => {
    const wish = (event: Event): void => {
      const isOther = event instanceof KeyboardEvent && !/^(?:Page|Home|End|Arrow[UD])/.test(event.key);
      if (!isOther) wishedAt.current = performance.now();
    };
    // Our own scrolling, and that of a text which changes its height, is no wish of the reader.
    const leave = (): void => {
      if (performance.now() - wishedAt.current <= intentMs) playback.unfollow();
    };
    const wishes = ['wheel', 'touchmove', 'keydown'] as const;
    for (const name of wishes) addEventListener(name, wish, { passive: true });
    addEventListener('scroll', leave, { passive: true });
    return () => {
      for (const name of wishes) removeEventListener(name, wish);
      removeEventListener('scroll', leave);
    };
  }, [playback]);
  return isBehind;
}

/** Scrolls only where what is heard stands out of sight. */
function reveal(element: Element | undefined): void {
  if (!element) return;
  const { top, bottom } = element.getBoundingClientRect();
  if (top < covered.top || bottom > innerHeight - covered.foot) element.scrollIntoView({ block: 'center' });
}
