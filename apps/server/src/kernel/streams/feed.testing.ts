import { topics } from '@svc/contract';
import type { Kernel } from '../kernel.ts';
import type { FeedChange, View } from './feed.ts';
import type { EventStream } from './sse.ts';

/** A stream that takes everything at once and keeps it. */
export function fakeStream() {
  const sent: { event: string; data: Record<string, unknown> }[] = [];
  const handlers: (() => void)[] = [];
  let closed = false;
  const stream: EventStream = {
    offer: () => undefined,
    hasRoom: () => true,
    drained: () => Promise.resolve(),
    send: (event, data) => stream.sendText(event, JSON.stringify(data)),
    sendText(event, json) {
      sent.push({ event, data: JSON.parse(json) as Record<string, unknown> });
      return true;
    },
    onClose: (handler) => void (closed ? handler() : handlers.push(handler)),
    end() {
      closed = true;
      for (const handler of handlers.splice(0)) handler();
    },
    destroy: () => stream.end(),
    get closed() {
      return closed;
    },
    socketProgress: () => undefined,
  };
  return { stream, sent };
}

/** Somebody who follows an account's feed, of all topics or some; `changes` are those that came. */
export async function followAccount(
  { feed }: Kernel,
  accountId: string,
  after?: string,
  of: readonly string[] = topics,
) {
  const { stream, sent } = fakeStream();
  const view: View = { topics: new Set(of), frame: (change) => ({ event: 'change', json: JSON.stringify(change) }) };
  await feed.follow({ accountId, after, view }, () => stream);
  const [first] = sent;
  return {
    ready: first?.data as { cursor: string; missed: boolean },
    get changes() {
      return sent.slice(1).map(({ data }) => data as unknown as FeedChange);
    },
    get isOver() {
      return stream.closed;
    },
    end: () => stream.end(),
  };
}

/** The changes of an account in the order of the feed, as its database has them. */
export async function storedIds({ sql }: Kernel, accountId: string): Promise<string[]> {
  const rows = await sql<{ subject: string }[]>`
    select subject from kernel.changes where account_id = ${accountId} order by xid, seq`;
  return rows.map(({ subject }) => subject);
}
