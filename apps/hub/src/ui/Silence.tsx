import { api } from '../api/client.ts';
import { useWords } from '../words/words.tsx';
import { useActs } from './acts.tsx';
import { Button } from './Button.tsx';

const hourMs = 3_600_000;
const stale = ['heartbeats', 'overview', 'notifications'];

/** Silences a monitor, with Undo. It stays what it is, and is told of again when the time is over. */
export function useSilence(id: string): {
  silence: (until: Date, done: string) => Promise<unknown>;
  hear: () => Promise<unknown>;
} {
  const words = useWords();
  const acts = useActs();
  const params = { id };
  const hear = (): Promise<unknown> =>
    acts.run(async () => api.heartbeats.update({ params, body: { muted_until: null } }), {
      done: words.monitors.heard,
      stale,
    });
  const silence = (until: Date, done: string): Promise<unknown> =>
    acts.send('heartbeats.update', { params, body: { muted_until: until.toISOString() } }, done, stale, hear);
  return { silence, hear };
}

/** The button that silences a monitor for an hour, or of one that is silenced the one that ends it. */
export function Silence({
  id,
  look = 'primary',
  isSilent = false,
}: {
  id: string;
  look?: 'primary' | 'plain';
  isSilent?: boolean;
}) {
  const text = useWords().monitors;
  const { silence, hear } = useSilence(id);
  if (isSilent)
    return (
      <Button look={look} onPress={hear}>
        {text.hear}
      </Button>
    );
  return (
    <Button look={look} onPress={() => silence(new Date(Date.now() + hourMs), text.silenced)}>
      {text.pauseFor.hour}
    </Button>
  );
}
