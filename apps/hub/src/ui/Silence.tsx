import { api } from '../api/client.ts';
import { useWords } from '../words/words.tsx';
import { useActs } from './acts.tsx';
import { Button } from './Button.tsx';

const hourMs = 3_600_000;
const stale = ['heartbeats', 'overview', 'notifications'];

/** Silences a monitor for an hour, with Undo: one press that ends by itself, where a pause would stay for ever. */
export function Silence({ id, look = 'primary' }: { id: string; look?: 'primary' | 'plain' }) {
  const words = useWords();
  const acts = useActs();
  const text = words.monitors;
  const params = { id };
  const silence = (): Promise<unknown> =>
    acts.send(
      'heartbeats.update',
      { params, body: { paused: true, paused_until: new Date(Date.now() + hourMs).toISOString() } },
      text.silenced,
      stale,
      () =>
        acts.run(async () => api.heartbeats.update({ params, body: { paused: false } }), { done: text.resumed, stale }),
    );
  return (
    <Button look={look} onPress={silence}>
      {text.pauseFor.hour}
    </Button>
  );
}
