import type { Kernel } from '../../kernel/kernel.ts';
import { recordOf } from '../../kernel/streams/feed.frames.ts';
import type { View } from '../../kernel/streams/feed.ts';
import type { EventStream } from '../../kernel/streams/sse.ts';
import type { TranscriptRow } from './transcripts.rows.ts';

/** Bus topic: a caption frame. The bus carries 8,000 bytes, a frame has 6,000 at most. */
const frameTopic = 'transcripts.live';

/** Changes of transcripts as frames: the fields of the record beside `op` and `cursor`. */
export const transcriptView: View = {
  topics: new Set(['transcripts']),
  frame(change) {
    const { id, status } = JSON.parse(recordOf(change)) as { id: string; status?: string };
    const data = { op: change.op, id, ...(status !== undefined && { status }), cursor: change.cursor };
    return { event: 'transcript', json: JSON.stringify(data) };
  },
};

interface Sent {
  accountId: string;
  id: string;
  status: string;
  live: object;
}

/** Caption frames, from any gateway to the streams of their account here. What nobody follows is gone. */
export class LiveFrames {
  readonly #bus: Kernel['bus'];
  readonly #streams = new Map<string, Set<EventStream>>();

  constructor({ bus }: Pick<Kernel, 'bus'>) {
    this.#bus = bus;
  }

  /** Hears of the frames of all gateways. */
  async start(): Promise<void> {
    await this.#bus.subscribe(frameTopic, (message) => this.#show(message as Sent));
  }

  /** Sends a frame to all gateways, this one among them. */
  send({ account_id: accountId, id, state: status }: TranscriptRow, live: object): void {
    this.#bus.post(frameTopic, { accountId, id, status, live } satisfies Sent);
  }

  /** Shows frames of an account on a stream until that ends. */
  follow(accountId: string, stream: EventStream): void {
    const streams = this.#streams.get(accountId) ?? new Set();
    this.#streams.set(accountId, streams.add(stream));
    stream.onClose(() => {
      streams.delete(stream);
      if (streams.size === 0) this.#streams.delete(accountId);
    });
  }

  #show({ accountId, id, status, live }: Sent): void {
    for (const stream of this.#streams.get(accountId) ?? [])
      stream.send('transcript', { op: 'live', id, status, live });
  }
}
