import { useEffect, useState } from 'preact/hooks';
import { useConnection } from '../api/connection.ts';
import { Button } from '../ui/Button.tsx';
import { whenNewBuild } from '../worker.ts';
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
  const { locale, tz } = useLocale();
  const { isLive, isOnline, at } = useConnection();
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (isLive) return setLong(false);
    const timer = setTimeout(() => setLong(true), patienceMs);
    return () => clearTimeout(timer);
  }, [isLive]);
  if (isOnline && (isLive || !isLong)) return null;
  const zone = tz === undefined ? {} : { timeZone: tz };
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  const text = new Intl.DateTimeFormat(locale, {
    ...zone,
    hour: '2-digit',
    minute: '2-digit',
    ...(!isToday && { day: 'numeric', month: 'short' }),
  }).format(new Date(at));
  return (
    <div class="strip" role="status">
      {isOnline ? words.states.stale(text) : words.states.offline(text)}
    </div>
  );
}
