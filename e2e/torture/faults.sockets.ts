import type { ServerResponse } from 'node:http';
import type { Fault } from './fault.ts';
import { isOfRequest } from './faults.database.ts';

/** The client is gone when its request sends the n-th statement: of the last one the answer is lost. */
const leave: Fault = {
  name: 'leave',
  arm({ proxy }, nth) {
    const abort = new AbortController();
    let count = 0;
    let hit: string | undefined;
    proxy.decide = async (statement): Promise<'pass'> => {
      if (!isOfRequest(statement) || ++count !== nth) return 'pass';
      hit = statement.sql;
      abort.abort();
      // The gateway is to hear of it before it goes on.
      await new Promise((resolve) => setTimeout(resolve, 5));
      return 'pass';
    };
    return { hit: () => hit, signal: abort.signal, [Symbol.dispose]: () => void (proxy.decide = () => 'pass') };
  },
};

/** What the gateway sends to a provider of models, or to a webhook, fails, or is never answered and the client leaves. */
const upstream = (name: 'refused' | 'unanswered'): Fault => ({
  name,
  arm({ around: { provider, receiver } }, nth) {
    const abort = new AbortController();
    const { script } = provider;
    const before = receiver.pushed.length;
    let count = 0;
    let hit: string | undefined;
    let stuck: ServerResponse | undefined;
    provider.script = (response, taken) => {
      if (++count !== nth) return script(response, taken);
      hit = taken.path;
      if (name === 'refused') return void response.destroy();
      stuck = response;
      setTimeout(() => abort.abort(), leavesAfterMs);
    };
    const answer = name === 'refused' ? { status: 500 } : { status: 200, stuck: true as const };
    if (nth === 1) receiver.answers.set('/hook', [answer]);
    return {
      hit: () => hit ?? (nth === 1 && receiver.pushed.length > before ? 'webhook' : undefined),
      ...(name === 'unanswered' && { signal: abort.signal }),
      [Symbol.dispose]() {
        provider.script = script;
        // Work that follows a request asks too, and would wait for as long as a lane may take.
        stuck?.destroy();
        receiver.answers.delete('/hook');
      },
    };
  },
});

const leavesAfterMs = 200;

/** Faults of connections, of clients and to upstreams. */
export const socketFaults: readonly Fault[] = [leave, upstream('refused'), upstream('unanswered')];
