import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { type Protocol, protocols, SseReader, wires } from '@svc/inference';
import fc from 'fast-check';
import { testClock } from '../../kernel/base/clock.ts';
import type { RelayedAnswer } from '../../kernel/http/relay.ts';
import type { Lane } from '../providers/index.ts';
import { LaneFailure } from './inference.attempt.ts';
import { StreamRelay } from './inference.stream.ts';
import { answers } from './inference.testing.ts';
import { Timers } from './inference.timers.ts';

/** Where the answer goes in place of a client. */
class Sink {
  isOpen = false;
  readonly chunks: Buffer[] = [];
  open(): void {
    this.isOpen = true;
  }
  write(chunk: Buffer | string): Promise<void> {
    this.chunks.push(Buffer.from(chunk));
    return Promise.resolve();
  }
}

/** Reads bytes as a client of a protocol does. */
function heard(protocol: Protocol, bytes: Buffer) {
  const reader = wires[protocol].reader();
  const sse = new SseReader();
  const frames = sse.push(bytes);
  const events = frames.flatMap((frame) => reader.push(frame));
  const ends = events.filter(({ type }) => type === 'end' || type === 'error');
  const kinds = new Map(events.flatMap((event) => (event.type === 'open' ? [[event.index, event.block.type]] : [])));
  const text = events.flatMap((event) =>
    event.type === 'delta' && kinds.get(event.index) === 'text' ? event.text : [],
  );
  const said = frames.map(({ data, event }) => `${event ?? ''} ${data ?? ''}`);
  const usage = events.findLast((event) => event.type === 'usage')?.usage;
  return { ends, text: text.join(''), said, usage, isCutFrame: sse.end() !== undefined };
}

const whole = 'Let me see. ☀️';
const faults = {
  none: (stream: Buffer) => stream,
  'cut anywhere': (stream: Buffer, at: number) => stream.subarray(0, Math.floor(stream.length * at)),
  'an event that is no JSON': (stream: Buffer, at: number) => spliced(stream, at, 'data: {"half\n\n'),
  'an error in the middle': (stream: Buffer, at: number, lane: Protocol) =>
    spliced(stream, at, lane === 'chat' ? 'data: {"error":{"message":"no"}}\n\n' : wires[lane].errorFrame('no')),
  'comments and pings': (stream: Buffer, at: number) => spliced(stream, at, ': ping\n\n'),
  CRLF: (stream: Buffer) => Buffer.from(stream.toString().replaceAll('\n', '\r\n')),
  'an end without a finish': (stream: Buffer, _at: number, lane: Protocol) => {
    const frames = stream.toString().split(/(?<=\n\n)/);
    const isFinish = (frame: string) => /"finish_reason":"|message_delta|response\.completed/.test(frame);
    return Buffer.from(
      frames.filter((frame) => !isFinish(frame)).join('') + (lane === 'chat' ? 'data: [DONE]\n\n' : ''),
    );
  },
  'nothing at all': () => Buffer.alloc(0),
} as const;
const harmless = new Set(['none', 'comments and pings', 'CRLF']);

function spliced(stream: Buffer, at: number, frame: string): Buffer {
  const frames = stream.toString().split(/(?<=\n\n)/);
  frames.splice(Math.floor((frames.length - 1) * at), 0, frame);
  return Buffer.from(frames.join(''));
}

const lane = { connectMs: 1, firstContentMs: 60_000, idleMs: 60_000, totalMs: 900_000 } as Lane;

describe('streams of models', () => {
  test('whatever a provider does, a client gets a prefix of its text and one last word, which is a success only of a whole answer; each token is counted', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...protocols),
        fc.constantFrom(...protocols),
        fc.constantFrom(...(Object.keys(faults) as (keyof typeof faults)[])),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        async (client, from, fault, at, sizes, tellsUsage) => {
          const bytes = faults[fault](Buffer.from(answers[from].stream.join('')), at, from);
          const chunks: Buffer[] = [];
          for (let start = 0, n = 0; start < bytes.length; n += 1) {
            const size = sizes[n % sizes.length] as number;
            chunks.push(bytes.subarray(start, start + size));
            start += size;
          }
          const sink = new Sink();
          const timers = new Timers(testClock(), lane, new AbortController().signal, true);
          const wanted = { client, lane: from, tellsUsage, created: 1, head: {}, onContent: () => {} };
          const relay = new StreamRelay(wanted, sink as unknown as RelayedAnswer, timers);
          let isWhole: boolean | 'failed';
          try {
            isWhole = await relay.run(Readable.from(chunks, { objectMode: true }));
          } catch (error) {
            assert.ok(error instanceof LaneFailure);
            assert.equal(sink.chunks.length, 0, 'another lane may answer: nothing was sent');
            isWhole = 'failed';
          }
          timers.end();
          const got = heard(client, Buffer.concat(sink.chunks));
          assert.ok(whole.startsWith(got.text), got.text);
          assert.equal(got.isCutFrame, false);
          if (isWhole === 'failed') {
            assert.ok(!harmless.has(fault), fault);
            seen.add(`${fault}: failover`);
            return;
          }
          assert.deepEqual(
            got.ends.map(({ type }) => type),
            [isWhole ? 'end' : 'error'],
            got.said.join('\n'),
          );
          if (harmless.has(fault)) assert.equal(isWhole, true);
          if (fault === 'an end without a finish' || fault === 'an event that is no JSON') assert.equal(isWhole, false);
          seen.add(`${fault}: ${isWhole ? 'whole' : 'cut'}`);
          if (!isWhole) return;
          assert.equal(got.text, whole);
          if (fault !== 'cut anywhere') {
            assert.deepEqual([relay.usage?.input, relay.usage?.output, relay.usage?.cached], [20, 9, 5]);
            const isTold = client !== 'chat' || tellsUsage;
            assert.equal(got.usage?.output, isTold ? 9 : undefined, 'the client sees the usage if it asked for it');
          }
        },
      ),
      { numRuns: 5_000 },
    );
    assert.ok(seen.size >= 11, [...seen].join(', '));
  });
});
