import { createHash } from 'node:crypto';
import type { Context } from '../../kernel/http/context.ts';
import type { Kernel } from '../../kernel/kernel.ts';

const topic = 'mcp.cancelled';

/** The fields of a message that we read; the rest is the protocol's affair. */
interface Message {
  method?: unknown;
  id?: unknown;
  params?: { requestId?: unknown; name?: unknown; arguments?: unknown } | undefined;
}

/** The messages of a body, which is one or a list of them. */
export function messagesOf(body: unknown): Message[] {
  const all: unknown[] = Array.isArray(body) ? body : [body];
  return all.filter((one): one is Message => typeof one === 'object' && one !== null);
}

/**
 * Requests that run here, by key, session and id. In the revision of 2025 a client says in a request of its own, which may
 * reach another gateway, that it has given one up; those of a list end together. In the newest it closes the connection,
 * which needs nothing of this.
 */
export class Cancellations {
  readonly #running = new Map<string, Context>();
  readonly #kernel: Pick<Kernel, 'bus' | 'sql'>;

  constructor(kernel: Pick<Kernel, 'bus' | 'sql'>) {
    this.#kernel = kernel;
  }

  async start(): Promise<void> {
    await this.#kernel.bus.subscribe(topic, (name) => this.#running.get(String(name))?.cancel());
  }

  /** Notes the requests among the messages until `end`, and passes on what the others give up. */
  begin(context: Context, session: unknown, messages: readonly Message[]): { end: () => void } {
    // Ids count up from 0 in most clients: without a session, another one's request would be ended.
    if (typeof session !== 'string') return { end: () => undefined };
    const name = (id: unknown): string =>
      createHash('sha256')
        .update(JSON.stringify([context.actor.credentialId, session, id]))
        .digest('hex');
    const own = messages.flatMap(({ method, id }) => (method !== undefined && id !== undefined ? [name(id)] : []));
    for (const one of own) this.#running.set(one, context);
    for (const { method, params } of messages) {
      if (method === 'notifications/cancelled' && params?.requestId !== undefined) {
        this.#cancel(name(params.requestId), context);
      }
    }
    return {
      end: () => {
        for (const one of own) if (this.#running.get(one) === context) this.#running.delete(one);
      },
    };
  }

  #cancel(name: string, { log }: Context): void {
    const here = this.#running.get(name);
    if (here) return here.cancel();
    const { bus, sql } = this.#kernel;
    // Nothing waits for it: who gave up a request has no answer to expect.
    bus
      .publish(sql, topic, name)
      .catch((err: unknown) => log.warn({ err }, 'a cancelled request of MCP was not told of'));
  }
}
