import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { Button } from '../../ui/Button.tsx';
import { areSingleKeysOn, isTyping } from '../../ui/keys.ts';
import { useWords } from '../../words/words.tsx';
import { type Playback, useFrames } from './playback.ts';
import { actOfKey, clockOf, skipMs, speedAfter, speeds } from './player.rules.ts';
import { type TranscriptRecord } from './transcripts.ts';

type Track = Awaited<ReturnType<typeof api.transcripts.audio>>['tracks'][number];
type Choice = Track['track'] | 'both';

/** The address on our own origin: the one that the API names may be another name of the same gateway. */
const ownAddress = ({ url }: Track): string => {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
};

/** An address that fails so soon is not too old. */
const oldMs = 60_000;

/** What can be chosen: a track that has all voices alone, else each of the two and both at once. */
const choicesOf = (tracks: readonly Track[]): Choice[] => {
  const names = tracks.map(({ track }) => track);
  return names.length > 1 && !names.includes('mixed') ? ['both', ...names] : names;
};

/** The sound of a recording, at the foot of the screen while its page is open. */
export function Player({
  transcript,
  playback,
  onBookmark,
}: {
  transcript: TranscriptRecord;
  playback: Playback;
  onBookmark: () => unknown;
}) {
  const { id } = transcript;
  const sound = useAnswer(
    ['transcripts', id, 'audio'],
    async () => (await api.transcripts.audio({ params: { id } })).tracks,
    { kept: false },
  );
  const tracks = sound.data ?? [];
  const [wanted, setWanted] = useState<Choice>();
  const choices = choicesOf(tracks);
  const choice = wanted ?? choices[0];
  if (choice === undefined) return null;
  return (
    <Loaded
      key={choice}
      {...{ transcript, playback, onBookmark, choice, choices, tracks }}
      onChoice={(next) => {
        playback.reload();
        setWanted(next);
      }}
      onLost={sound.again}
    />
  );
}

/** The element that plays. Its address holds for an hour: a newer one is taken when the one it has fails. */
function Loaded({
  transcript,
  playback,
  onBookmark,
  choice,
  choices,
  tracks,
  onChoice,
  onLost,
}: {
  transcript: TranscriptRecord;
  playback: Playback;
  onBookmark: () => unknown;
  choice: Choice;
  choices: Choice[];
  tracks: readonly Track[];
  onChoice: (choice: Choice) => void;
  onLost: () => void;
}) {
  const words = useWords();
  const text = words.transcripts;
  const audio = useRef<HTMLAudioElement>(null);
  const beside = useRef<HTMLAudioElement>(null);
  const heard =
    choice === 'both'
      ? tracks.filter(({ track }) => track !== 'mixed')
      : tracks.filter(({ track }) => track === choice);
  const newest = heard.map(ownAddress);
  const [sources, setSources] = useState(newest);
  const [isFailed, setFailed] = useState(false);
  const isRenewed = useRef(false);
  const newestText = newest.join(' ');
  useLayoutEffect(() => {
    playback.attach(audio.current, beside.current);
    return () => playback.attach(null, null);
  }, [playback]);
  useEffect(() => {
    if (!isRenewed.current || newestText === sources.join(' ')) return;
    isRenewed.current = false;
    playback.reload();
    setSources(newest);
    setFailed(false);
  }, [newestText]);
  const tell = (): void => playback.tell();
  /** Asks for another address; a sound that this browser cannot play fails with that one too, and is not asked for again. */
  const renew = (): void => {
    isRenewed.current = true;
    playback.reload();
    onLost();
  };
  const takenAt = useRef(performance.now());
  useEffect(() => {
    takenAt.current = performance.now();
  }, [sources]);
  const lost = (): void => {
    setFailed(true);
    if (performance.now() - takenAt.current > oldMs) renew();
  };
  return (
    <section class="player" aria-label={text.player}>
      <audio
        ref={audio}
        src={sources[0]}
        preload="metadata"
        onLoadedMetadata={() => playback.loaded()}
        onPlay={tell}
        onPause={tell}
        onSeeked={tell}
        onTimeUpdate={tell}
        onEnded={tell}
        onError={lost}
      />
      {sources.length > 1 && (
        <audio
          ref={beside}
          src={sources[1]}
          preload="auto"
          onLoadedMetadata={() => playback.setSpeed(playback.speed)}
        />
      )}
      {isFailed && (
        <p class="hint">
          {text.cannotPlay}{' '}
          <Button look="quiet" onPress={renew}>
            {words.retry}
          </Button>
        </p>
      )}
      <Place transcript={transcript} playback={playback} />
      <div class="player-acts">
        <Transport playback={playback} />
        <Button look="quiet" icon="bookmark" isIconOnly onPress={onBookmark}>
          {text.addBookmark}
        </Button>
        <Speed playback={playback} />
        {choices.length > 1 && <TrackChoice {...{ choice, choices, onChoice }} />}
      </div>
    </section>
  );
}

function TrackChoice({
  choice,
  choices,
  onChoice,
}: {
  choice: Choice;
  choices: readonly Choice[];
  onChoice: (choice: Choice) => void;
}) {
  const text = useWords().transcripts;
  return (
    <select
      class="small"
      aria-label={text.track}
      value={choice}
      onChange={(event) => onChoice(event.currentTarget.value as Choice)}
    >
      {choices.map((one) => (
        <option value={one} key={one}>
          {text.tracks[one]}
        </option>
      ))}
    </select>
  );
}

/** Where it is, as a slider and in words; drawn by hand, since it changes with each frame. */
function Place({ transcript, playback }: { transcript: TranscriptRecord; playback: Playback }) {
  const text = useWords().transcripts;
  const slider = useRef<HTMLInputElement>(null);
  const time = useRef<HTMLSpanElement>(null);
  const lengthMs = transcript.duration_ms ?? 0;
  const paint = useCallback(() => {
    const { ms } = playback;
    const shown = clockOf(ms);
    if (time.current && time.current.textContent !== shown) time.current.textContent = shown;
    if (!slider.current) return;
    slider.current.value = String(Math.round(ms / 1_000));
    slider.current.setAttribute('aria-valuetext', text.positionText(shown, clockOf(lengthMs)));
  }, [playback, lengthMs, text]);
  useFrames(playback, paint);
  return (
    <div class="player-place">
      <span class="player-time" ref={time} />
      <input
        ref={slider}
        type="range"
        min={0}
        max={Math.max(1, Math.ceil(lengthMs / 1_000))}
        aria-label={text.position}
        onInput={(event) => playback.seek(Number(event.currentTarget.value) * 1_000)}
      />
      <span class="player-time">{clockOf(lengthMs)}</span>
    </div>
  );
}

/** Play, pause and small steps; keys do the same. */
function Transport({ playback }: { playback: Playback }) {
  const text = useWords().transcripts;
  const [isPlaying, setPlaying] = useState(playback.isPlaying);
  useEffect(() => playback.listen(() => setPlaying(playback.isPlaying)), [playback]);
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      const inside = (selector: string): boolean => target instanceof Element && target.closest(selector) !== null;
      const isTaken = isTyping(target) || inside('[role=menu]') || (key === ' ' && inside('button, a[href], summary'));
      const act = actOfKey(key, { isTaken, areSingleKeysOn: areSingleKeysOn() });
      if (!act) return;
      event.preventDefault();
      if (act.kind === 'toggle') playback.toggle();
      else if (act.kind === 'skip') playback.seek(playback.ms + act.byMs);
      else playback.setSpeed(speedAfter(playback.speed, act.step));
    };
    document.addEventListener('keydown', hear);
    return () => document.removeEventListener('keydown', hear);
  }, [playback]);
  return (
    <>
      <Button look="quiet" icon="back" isIconOnly onPress={() => playback.seek(playback.ms - skipMs)}>
        {text.back}
      </Button>
      <Button look="primary" icon={isPlaying ? 'pause' : 'play'} isIconOnly onPress={() => playback.toggle()}>
        {isPlaying ? text.pause : text.play}
      </Button>
      <Button look="quiet" icon="ahead" isIconOnly onPress={() => playback.seek(playback.ms + skipMs)}>
        {text.ahead}
      </Button>
    </>
  );
}

function Speed({ playback }: { playback: Playback }) {
  const text = useWords().transcripts;
  const [speed, setSpeed] = useState(playback.speed);
  useEffect(() => playback.listen(() => setSpeed(playback.speed)), [playback]);
  return (
    <select
      class="small"
      aria-label={text.speed}
      value={String(speed)}
      onChange={(event) => playback.setSpeed(Number(event.currentTarget.value))}
    >
      {speeds.map((one) => (
        <option value={String(one)} key={one}>{`${one}×`}</option>
      ))}
    </select>
  );
}
