import { useQueryClient } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { useConnection } from '../api/connection.ts';
import { Button } from '../ui/Button.tsx';
import { whenNewBuild } from '../worker.ts';
import { dateFormat } from '../ui/time.rules.ts';
import { useLocale, useWords } from '../words/words.tsx';

const patienceMs = 5_000;

/** Says that a new build waits; it takes over by itself once nobody looks. */
export function NewBuild() {
  const words = useWords();
  const [change, setChange] = useState<() => void>();
  useEffect(() => whenNewBuild((take) => setChange(() => take)), []);
  if (!change) return null;
  return (
    <div class="strip calm" role="status">
      {words.states.newBuild} <Button onPress={change}>{words.states.reload}</Button>
    </div>
  );
}

/** Says that what is shown may be old: after 5 s without a stream, or without a network. */
export function Strip() {
  const words = useWords();
  const { isLive, isOnline, at } = useConnection();
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (isLive) return setLong(false);
    const timer = setTimeout(() => setLong(true), patienceMs);
    return () => clearTimeout(timer);
  }, [isLive]);
  if (isOnline && (isLive || !isLong)) return null;
  return <Since at={at}>{isOnline ? words.states.stale : words.states.offline}</Since>;
}

/** Says until when what is shown was true: when the stream ended, or when the oldest of it was kept. */
function Since({ at, children: say }: { at: number | undefined; children: (time: string) => string }) {
  const { locale, tz } = useLocale();
  const cache = useQueryClient().getQueryCache();
  const [, setShown] = useState(0);
  useEffect(
    () =>
      cache.subscribe(({ type }) => {
        if (type === 'observerAdded' || type === 'observerRemoved') setShown((count) => count + 1);
      }),
    [cache],
  );
  const kept = cache.findAll({ type: 'active' }).map(({ state }) => state.dataUpdatedAt);
  const since = new Date(at ?? Math.min(Date.now(), ...kept.filter((time) => time > 0)));
  const isToday = since.toDateString() === new Date().toDateString();
  const format = dateFormat(locale, {
    ...(tz !== undefined && { timeZone: tz }),
    hour: '2-digit',
    minute: '2-digit',
    ...(!isToday && { day: 'numeric', month: 'short' }),
  });
  return (
    <div class="strip" role="status">
      {say(format.format(since))}
    </div>
  );
}
