import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { problemOf } from '../api/errors.ts';
import type { Answer } from '../api/queries.ts';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';
import { Icon } from './icons.tsx';

const patienceMs = 150;

/** Grey rows of the height of what comes; nothing for the first 150 ms, so that a quick answer does not flicker. */
export function Loading({ rows = 4 }: { rows?: number }) {
  const words = useWords();
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), patienceMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="loading" role="status">
      <span class="unseen">{words.states.loading}</span>
      {Array.from({ length: rows }, (_, row) => (
        <div class={isSlow ? 'ghost' : 'ghost unshown'} key={row} />
      ))}
    </div>
  );
}

/** Nothing is there yet: one sentence, and what makes the first one. */
export const Empty = ({ children, act }: { children: ComponentChildren; act?: ComponentChildren }) => (
  <div class="empty">
    <p>{children}</p>
    {act}
  </div>
);

/** Our words for a failure, its trace id, and another try. */
export function Failed({ error, again }: { error: unknown; again?: () => void }) {
  const words = useWords();
  const { text, detail, traceId, isNotAllowed } = problemOf(error, words);
  return (
    <div class={isNotAllowed ? 'box note' : 'box problem'} role="alert">
      <Icon name={isNotAllowed ? 'keys' : 'warn'} />
      <div>
        <p>{text}</p>
        {detail !== undefined && <p class="hint">{detail}</p>}
        {traceId !== undefined && <p class="hint">{words.states.trace(traceId)}</p>}
      </div>
      {again && !isNotAllowed && <Button onPress={again}>{words.retry}</Button>}
    </div>
  );
}

/** One answer on the page in each of its states; what was on screen stays when a newer try fails. */
export function Answered<T>({
  answer,
  rows,
  children,
}: {
  answer: Answer<T>;
  rows?: number;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, again } = answer;
  return (
    <>
      {error !== undefined && <Failed error={error} again={again} />}
      {data !== undefined ? children(data) : error === undefined && <Loading {...(rows !== undefined && { rows })} />}
    </>
  );
}
