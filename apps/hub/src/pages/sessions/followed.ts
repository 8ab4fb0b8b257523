import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import type { SessionEntry } from './sessions.ts';

const againMs = 3_000;
const mostEvents = 2_000;

/**
 * Events of a session that come after `after`, as they come; undefined: not yet known from where on. The stream of changes
 * tells ended turns only, so a page that shows a session follows it itself, while it is in sight.
 */
export function useFollowed(id: string, after: number | undefined): SessionEntry[] {
  const [events, setEvents] = useState<SessionEntry[]>([]);
  const last = useRef(0);
  last.current = Math.max(last.current, after ?? 0);
  const isKnown = after !== undefined;
  useEffect(() => {
    if (!isKnown) return undefined;
    let stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listen = async (signal: AbortSignal): Promise<void> => {
      try {
        const input = { params: { id }, query: { after: last.current } };
        for await (const frame of api.sessions.follow(input, { signal, retries: 0 })) {
          if (frame.event !== 'event' || frame.data.seq <= last.current) continue;
          last.current = frame.data.seq;
          setEvents((before) => [...before, frame.data].slice(-mostEvents));
        }
      } catch {
        // A lost stream is opened again below; what the page cannot read its list says.
      }
      if (!signal.aborted) timer = setTimeout(() => void listen(signal), againMs);
    };
    const turn = (): void => {
      stop.abort();
      clearTimeout(timer);
      stop = new AbortController();
      if (!document.hidden) void listen(stop.signal);
    };
    turn();
    document.addEventListener('visibilitychange', turn);
    return () => {
      document.removeEventListener('visibilitychange', turn);
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, isKnown]);
  return events;
}
