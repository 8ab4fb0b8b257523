import { useWords } from '../words/words.tsx';

/** A day of a monitor, as the API writes it. */
const letters = { u: 'up', l: 'late', d: 'down', p: 'paused', n: 'new' } as const;
const radius = 1;

/** The bars of the days of one kind as the shape of one element: a list has thirty days in each of its rows. */
function shapeOf(days: string, letter: string): string {
  const isTall = letter === 'u' || letter === 'd';
  const [top, height] = isTall ? [0, 16] : [4, 12];
  const arc = (x: number, y: number): string => `a${radius} ${radius} 0 0 1 ${x} ${y}`;
  const side = height - 2 * radius;
  const bar = `h1${arc(1, 1)}v${side}${arc(-1, 1)}h-1${arc(-1, -1)}v-${side}${arc(1, -1)}z`;
  return Array.from(days, (day, at) => (day === letter ? `M${at * 4 + radius} ${top}${bar}` : '')).join('');
}

/** The last days of a monitor as small bars, oldest first; read aloud as one sentence. */
export function Bars({ days }: { days: string }) {
  const words = useWords();
  const bad = Array.from(days).filter((day) => day === 'd').length;
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${days.length * 4} 16`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words.monitors.daysDown(bad, String(days.length))}
    >
      {Object.entries(letters).map(
        ([letter, kind]) => days.includes(letter) && <path class={kind} key={kind} d={shapeOf(days, letter)} />,
      )}
    </svg>
  );
}
