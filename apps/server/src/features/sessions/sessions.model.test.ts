import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest } from '../../testing.ts';
import { openDevice } from './sessions.testing.ts';

interface Batch {
  device: number;
  expected: number;
  events: { type: string; turn_id: string; text: string; id?: string }[];
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      device: fc.nat(1),
      gateway: fc.nat(1),
      /** How far from the real end the writer believes that it is. */
      off: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -3, max: 1 })),
      kinds: fc.array(fc.constantFrom('start', 'end', 'delta', 'named'), { minLength: 1, maxLength: 4 }),
      turn: fc.nat(2),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('repeat' as const), which: fc.nat(30), gateway: fc.nat(1) }),
  },
  fc.record({ kind: fc.constantFrom('take' as const, 'drop' as const), device: fc.nat(1), gateway: fc.nat(1) }),
  fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(10, 29, 31) }),
);

const nameOf = ({ type, turn_id, id }: Batch['events'][number]): string | undefined =>
  id ?? (type === 'turn_start' || type === 'turn_end' ? `${type} ${turn_id}` : undefined);

describe('a session as a model', () => {
  const clock = testClock();
  const { gateway, second } = shared(() => openTest({ clock, gateways: 2 }));

  test('two devices at two gateways, whatever they send again: what is acknowledged is there once and in order, nothing else is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const account = await createAccount(gateway);
        const devices = await Promise.all(
          [0, 1].map(async () => {
            const one = await openDevice(gateway, account);
            return [one, await openDevice(second, account, { id: one.id })] as const;
          }),
        );
        const on = (device: number, at: number) => devices[device]?.[at] ?? assert.fail();
        const { id } = (await on(0, 0).ask('POST', '/v1/sessions', {})).body;
        /** The log as it must be: text and writer. */
        const log: { text: string; name: string | undefined; device: number }[] = [];
        let lease: { device: number; until: number } | undefined;
        const sent: Batch[] = [];
        const holder = () => (lease && lease.until > clock.now() ? lease.device : undefined);

        const append = async (batch: Batch, at: number): Promise<void> => {
          const { device, expected, events } = batch;
          const body = { expected_seq: expected, events };
          const answer = await on(device, at).ask('POST', `/v1/sessions/${id}/events`, body);
          const names = new Set<string>();
          const once = events.filter((event) => {
            const name = nameOf(event);
            const isNew = name === undefined || !names.has(name);
            if (name !== undefined) names.add(name);
            return isNew;
          });
          const known = once.map(
            (event) => log.findIndex(({ name }) => name !== undefined && name === nameOf(event)) + 1,
          );
          const fresh = once.filter((_, i) => known[i] === 0);
          const behind = once.filter((_, i) => (known[i] ?? 0) === 0 || (known[i] ?? 0) > expected);
          const there = log.slice(expected, expected + behind.length);
          const isRepeat =
            expected < log.length &&
            there.length === behind.length &&
            there.every((one, i) => one.text === behind[i]?.text && one.device === device);
          if (fresh.length === 0) {
            assert.deepEqual([answer.status, answer.body.seq], [200, Math.max(...known)]);
          } else if (expected !== log.length && isRepeat) {
            assert.deepEqual([answer.status, answer.body.seq], [200, expected + behind.length]);
          } else if (holder() !== undefined && holder() !== device) {
            assert.deepEqual([answer.status, answer.body.error?.code], [409, 'lease_held']);
          } else if (expected !== log.length) {
            assert.deepEqual([answer.status, answer.body.error?.details?.seq], [409, log.length]);
          } else {
            for (const event of fresh) log.push({ text: event.text, name: nameOf(event), device });
            assert.deepEqual([answer.status, answer.body.seq], [200, log.length]);
            lease = { device, until: clock.now() + 30_000 };
          }
        };

        for (const [n, one] of steps.entries()) {
          if (one.kind === 'append') {
            const expected = Math.max(0, log.length + one.off);
            const events = one.kinds.map((kind, i) => ({
              type: kind === 'start' ? 'turn_start' : kind === 'end' ? 'turn_end' : 'delta',
              turn_id: `t${one.turn}`,
              text: `${n}.${i}`,
              ...(kind === 'named' && { id: `n${one.turn}` }),
            }));
            sent.push({ device: one.device, expected, events });
            await append(sent.at(-1) as Batch, one.gateway);
          } else if (one.kind === 'repeat') {
            const batch = sent[one.which % Math.max(1, sent.length)];
            if (batch) await append(batch, one.gateway);
          } else if (one.kind === 'wait') clock.advance(1_000 * one.seconds);
          else {
            const method = one.kind === 'take' ? 'POST' : 'DELETE';
            const { status } = await on(one.device, one.gateway).ask(method, `/v1/sessions/${id}/lease`);
            const isFree = holder() === undefined || holder() === one.device;
            assert.equal(status, isFree ? 200 : 409);
            if (isFree) lease = one.kind === 'take' ? { device: one.device, until: clock.now() + 30_000 } : undefined;
          }
        }
        const read = (await on(1, 1).ask('GET', `/v1/sessions/${id}/events?limit=200`)).body.events;
        assert.deepEqual(
          read.map(({ seq, text }: { seq: number; text: string }) => [seq, text]),
          log.map(({ text }, i) => [i + 1, text]),
        );
      }),
      { numRuns: Number(process.env['SVC_TEST_MODELS'] ?? 10) },
    );
  });
});
