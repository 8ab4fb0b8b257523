import { useEffect, useRef } from 'preact/hooks';
import { useWords } from '../words/words.tsx';

const waitMs = 200;

/** A search that goes a moment after the last key. The input is its own: a list that is drawn anew does not hold it up. */
export function SearchBox({ value, onSearch }: { value: string; onSearch: (value: string) => void }) {
  const words = useWords();
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = value;
  }, [value]);
  return (
    <input
      ref={input}
      type="search"
      class="search"
      aria-label={words.search}
      placeholder={words.search}
      maxLength={100}
      onInput={(event) => {
        const text = event.currentTarget.value;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onSearch(text.trim()), waitMs);
      }}
    />
  );
}
