import {
  elementScroll,
  observeElementOffset as observeOffset,
  observeElementRect as observeRect,
  observeWindowOffset,
  observeWindowRect,
  Virtualizer,
  windowScroll,
} from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ListAnswer } from '../api/queries.ts';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';
import { Failed, Loading } from './State.tsx';

/** Lists up to this many rows stand in the page whole. */
const wholeRows = 60;
/** The next page is asked for when this many rows are left below. */
const aheadRows = 20;

/** Virtual rows over the window's scrolling: only those in view are in the document. */
function useWindowRows(count: number, estimate: number) {
  const box = useRef<HTMLUListElement>(null);
  const [, redraw] = useState(0);
  const made = useRef<Virtualizer<Window, HTMLElement>>();
  const options = {
    count,
    estimateSize: () => estimate,
    overscan: 6,
    getScrollElement: () => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    scrollMargin: box.current?.offsetTop ?? 0,
    onChange: () => redraw((count) => count + 1),
  };
  made.current ??= new Virtualizer<Window, HTMLElement>(options);
  made.current.setOptions(options);
  useLayoutEffect(() => made.current?._didMount(), []);
  useLayoutEffect(() => made.current?._willUpdate());
  return { box, virtual: made.current };
}

/** Rows of a list that the API answers in pages; with many of them only those in view are drawn. */
export function Rows<T extends { id: string }>({
  answer,
  row,
  empty,
  label,
  estimate = 72,
}: {
  answer: ListAnswer<T>;
  row: (item: T) => ComponentChildren;
  empty: ComponentChildren;
  /** Read aloud. */
  label: string;
  /** Height of a row before it is measured, in pixels. */
  estimate?: number;
}) {
  const words = useWords();
  const { data, error, again, hasMore, more, isLoadingMore } = answer;
  return (
    <>
      {error !== undefined && <Failed error={error} again={again} />}
      {data === undefined && error === undefined && <Loading rows={6} />}
      {data?.length === 0 && empty}
      {data && data.length > 0 && data.length <= wholeRows && (
        <ul class="rows" aria-label={label}>
          {data.map((item) => (
            <li key={item.id}>{row(item)}</li>
          ))}
        </ul>
      )}
      {data && data.length > wholeRows && (
        <ManyRows items={data} row={row} label={label} estimate={estimate} onEnd={hasMore ? more : undefined} />
      )}
      {hasMore && (
        <div class="more">
          <Button onPress={more}>{isLoadingMore ? words.states.loading : words.more}</Button>
        </div>
      )}
    </>
  );
}

/** A row that is drawn when it changes, and not with each step of scrolling. */
function Item<T>({ item, row }: { item: T; row: (item: T) => ComponentChildren }) {
  return <>{useMemo(() => row(item), [item, row])}</>;
}

function ManyRows<T extends { id: string }>({
  items,
  row,
  label,
  estimate,
  onEnd,
}: {
  items: T[];
  row: (item: T) => ComponentChildren;
  label: string;
  estimate: number;
  onEnd: (() => void) | undefined;
}) {
  const { box, virtual } = useWindowRows(items.length, estimate);
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last > items.length - aheadRows) onEnd?.();
  }, [last, items.length]);
  const margin = virtual.options.scrollMargin;
  return (
    <ul class="rows many" aria-label={label} ref={box} style={{ height: `${virtual.getTotalSize()}px` }}>
      {shown.map(({ index, start, key }) => {
        const item = items[index];
        return (
          item && (
            <li
              key={key}
              data-index={index}
              ref={virtual.measureElement}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start - margin}px)` }}
            >
              <Item item={item} row={row} />
            </li>
          )
        );
      })}
    </ul>
  );
}

/** Virtual rows of one height in a box that scrolls by itself. */
export function useBoxRows(count: number, height: number) {
  const box = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const made = useRef<Virtualizer<HTMLDivElement, HTMLElement>>();
  const options = {
    count,
    estimateSize: () => height,
    overscan: 12,
    getScrollElement: () => box.current,
    observeElementRect: observeRect,
    observeElementOffset: observeOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw((count) => count + 1),
  };
  made.current ??= new Virtualizer<HTMLDivElement, HTMLElement>(options);
  made.current.setOptions(options);
  useLayoutEffect(() => made.current?._didMount(), []);
  useLayoutEffect(() => made.current?._willUpdate());
  return { box, virtual: made.current };
}
