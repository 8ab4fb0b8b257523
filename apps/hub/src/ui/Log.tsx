import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useWords } from '../words/words.tsx';
import { LogLines, spansOf } from './ansi.rules.ts';
import { Button } from './Button.tsx';
import { CopyButton } from './Copy.tsx';
import { useBoxRows } from './List.tsx';

const lineHeight = 20;
/** Frames come faster than anybody reads: they are drawn together. */
const drawEveryMs = 100;
const nearEnd = 40;
/** So many lines are drawn all, and wrap: what is longer is drawn where it is seen, for which each line has to be one line high. */
const mostWrapped = 200;

/** Reads a log; calls `onText` with what comes, and ends with it. */
export type LogSource = (onText: (text: string) => void, signal: AbortSignal) => Promise<void>;

/** A log as it comes: only lines in view are drawn, and a reader who scrolled up stays where they are. */
export function Log({ source, label }: { source: LogSource; label: string }) {
  const words = useWords();
  const lines = useRef(new LogLines());
  const [count, setCount] = useState(0);
  const [seen, setSeen] = useState(0);
  const [isFollowing, setFollowing] = useState(true);
  const [wanted, setWanted] = useState('');
  const [hit, setHit] = useState(0);
  const { box, virtual } = useBoxRows(count, lineHeight);
  useEffect(() => {
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      timer = undefined;
      setCount(lines.current.count);
    };
    const onText = (text: string): void => {
      lines.current.push(text);
      timer ??= setTimeout(draw, drawEveryMs);
    };
    source(onText, end.signal).catch(() => {});
    return () => {
      end.abort();
      clearTimeout(timer);
    };
  }, [source]);
  const isShort = count <= mostWrapped;
  useEffect(() => {
    if (!isFollowing || count === 0) return;
    if (isShort) box.current?.scrollTo({ top: box.current.scrollHeight });
    else virtual.scrollToIndex(count - 1, { align: 'end' });
    setSeen(count);
  }, [count, isFollowing]);
  // All lines are looked through when something comes, and not with each step of scrolling.
  const hits = useMemo(() => (wanted === '' ? [] : lines.current.find(wanted)), [wanted, count]);
  const goTo = (place: number): void => {
    const at = hits[(place + hits.length) % hits.length];
    if (at === undefined) return;
    setHit((place + hits.length) % hits.length);
    setFollowing(false);
    if (isShort) box.current?.querySelectorAll('.log-line')[at]?.scrollIntoView({ block: 'nearest' });
    else virtual.scrollToIndex(at, { align: 'center' });
  };
  const fresh = count - seen;
  return (
    <div class="log">
      <div class="log-tools">
        <a class="skip" href="#after-log">
          {words.runs.skipLog}
        </a>
        <input
          type="search"
          aria-label={words.search}
          placeholder={words.search}
          value={wanted}
          onInput={(event) => {
            setWanted(event.currentTarget.value);
            setHit(0);
          }}
          onKeyDown={(event) => event.key === 'Enter' && goTo(hit + (event.shiftKey ? -1 : 1))}
        />
        {wanted !== '' && <span class="hint">{`${hits.length === 0 ? 0 : hit + 1} / ${hits.length}`}</span>}
        <CopyButton text={() => lines.current.text()} look="quiet" />
      </div>
      <div
        class="log-box"
        ref={box}
        tabIndex={0}
        role="log"
        aria-label={label}
        aria-live="off"
        onScroll={({ currentTarget: element }) => {
          const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < nearEnd;
          if (isAtEnd) setFollowing(true);
          else if (isFollowing && count > 0) setFollowing(false);
        }}
      >
        <LogRows lines={lines.current} count={count} virtual={virtual} hit={hits[hit]} />
      </div>
      {!isFollowing && fresh > 0 && (
        <div class="log-fresh">
          <Button look="primary" onPress={() => setFollowing(true)}>
            {words.count.newLines(fresh)}
          </Button>
        </div>
      )}
      <span id="after-log" tabIndex={-1} />
    </div>
  );
}

/** The lines that are drawn: all of a short log, as wide as the box; of a long one those in view. */
function LogRows({
  lines,
  count,
  virtual,
  hit,
}: {
  lines: LogLines;
  count: number;
  virtual: ReturnType<typeof useBoxRows>['virtual'];
  hit: number | undefined;
}) {
  const isShort = count <= mostWrapped;
  const drawn = isShort
    ? Array.from({ length: count }, (_, index) => ({ index, start: 0 }))
    : virtual.getVirtualItems();
  return (
    <div
      class={isShort ? 'log-lines wrapped' : 'log-lines'}
      style={isShort ? {} : { height: `${virtual.getTotalSize()}px` }}
    >
      {drawn.map(({ index, start }) => (
        <div
          key={index}
          class={hit === index ? 'log-line hit' : 'log-line'}
          style={isShort ? {} : { transform: `translateY(${start}px)` }}
        >
          {spansOf(lines.at(index)).map(({ text, look }, place) => (
            <span class={look === '' ? undefined : look} key={place}>
              {text}
            </span>
          ))}
        </div>
      ))}
    </div>
  );
}
