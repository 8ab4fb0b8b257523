import { useLocale, useWords } from '../words/words.tsx';

/** A day of a monitor, as the API writes it. */
const letters = { u: 'up', l: 'late', d: 'down', p: 'paused', n: 'new' } as const;
type Day = (typeof letters)[keyof typeof letters];

/** The last days of a monitor as small bars, oldest first; read aloud as one sentence. */
export function Bars({ days }: { days: string }) {
  const words = useWords();
  const { locale } = useLocale();
  const all = Array.from(days, (letter): Day => letters[letter as keyof typeof letters] ?? 'new');
  const bad = all.filter((day) => day === 'down').length;
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${all.length * 4} 16`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words.monitors.daysDown(bad, all.length.toLocaleString(locale))}
    >
      {all.map((day, at) => (
        <rect
          class={day}
          key={at}
          x={at * 4}
          y={day === 'up' || day === 'down' ? 0 : 4}
          width="3"
          height={day === 'up' || day === 'down' ? 16 : 12}
          rx="1"
        />
      ))}
    </svg>
  );
}
