import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { SvcError } from '@svc/sdk';
import fc from 'fast-check';
import { shared } from '../../testing.shared.ts';
import { clientOf, openHost, openTest, type TestHost } from '../../testing.ts';

/** One call of a scenario, and what befalls it. */
interface Script {
  /** Gateway of the caller and of the post. */
  callAt: 0 | 1;
  postAt: 0 | 1;
  /** Place in the order in which the host answers. */
  order: number;
  fault: 'none' | 'duplicate' | 'forged' | 'cancelled' | 'unanswered' | 'late-loss';
}

const script = fc.record<Script>({
  callAt: fc.constantFrom(0, 1),
  postAt: fc.constantFrom(0, 1),
  order: fc.nat(1_000),
  fault: fc.constantFrom('none', 'none', 'none', 'duplicate', 'forged', 'cancelled', 'unanswered', 'late-loss'),
});
const scenario = fc.record({
  streamAt: fc.constantFrom(0 as const, 1 as const),
  calls: fc.array(script, { minLength: 2, maxLength: 5 }),
});

/** `SVC_TEST_INTERLEAVINGS=1000` for as many as were shown. */
const interleavings = Number(process.env['SVC_TEST_INTERLEAVINGS'] ?? 60);

describe('hosts relay under interleavings', () => {
  const { gateway, second, account } = shared(() => openTest({ gateways: 2 }));
  const gateways = [gateway, second] as const;

  /** Makes a call that carries a token of its own; resolves with what came back, or the error's code. */
  async function callWith(token: string, host: TestHost, call: Script, signal: AbortSignal): Promise<unknown> {
    const body = { op: 'echo', args: { token }, timeout_ms: call.fault === 'unanswered' ? 1_000 : 60_000 };
    try {
      const client = clientOf(gateways[call.callAt], account.key);
      return (await client.hosts.exec({ params: { device_id: host.deviceId }, body }, { signal })).result;
    } catch (error) {
      return error instanceof SvcError ? error.code : 'aborted';
    }
  }

  async function answer(host: TestHost, call: Script, frame: Record<string, unknown>): Promise<void> {
    const params = { req_id: String(frame['req_id']) };
    const { token } = frame['args'] as { token: string };
    const poster = clientOf(gateways[call.postAt], account.key, host.deviceId);
    if (call.fault === 'forged') {
      const forger = clientOf(gateways[call.postAt], account.key, randomUUID());
      await assert.rejects(forger.hosts.result({ params, body: { ok: true, result: 'forged' } }), { status: 404 });
    }
    await poster.hosts.result({ params, body: { ok: true, result: token } });
    if (call.fault === 'duplicate') {
      const second = clientOf(gateways[call.postAt === 0 ? 1 : 0], account.key, host.deviceId);
      await second.hosts.result({ params, body: { ok: true, result: 'second' } });
    }
  }

  /** What the host is asked, by token; of a call that was answered before it could be asked, nothing. */
  async function framesOf(host: TestHost, tokens: readonly string[], answers: readonly Promise<unknown>[]) {
    const frames = new Map<string, Record<string, unknown>>();
    const awaited = new Set(tokens);
    const over = answers.map(async (answer, i) => {
      await answer;
      awaited.delete(tokens[i] as string);
    });
    let next: ReturnType<TestHost['next']> | undefined;
    while (awaited.size > 0) {
      next ??= host.next();
      const open = over.filter((_, i) => awaited.has(tokens[i] as string));
      const came = await Promise.race([next, ...open]);
      if (came === undefined) continue;
      next = undefined;
      const { token } = (came.data['args'] ?? {}) as { token?: string };
      if (came.event !== 'exec' || token === undefined) continue;
      frames.set(token, came.data);
      awaited.delete(token);
    }
    return frames;
  }

  async function play(host: TestHost, calls: readonly Script[]): Promise<void> {
    const tokens = calls.map(() => randomUUID() as string);
    const aborts = calls.map(() => new AbortController());
    const answers = calls.map((call, i) =>
      callWith(tokens[i] as string, host, call, (aborts[i] as AbortController).signal),
    );
    const frames = await framesOf(host, tokens, answers);
    const turns = calls.map((call, i) => ({ call, i })).sort((x, y) => x.call.order - y.call.order);
    await Promise.all(
      turns.map(async ({ call, i }) => {
        if (call.fault === 'cancelled') (aborts[i] as AbortController).abort();
        const frame = frames.get(tokens[i] as string);
        if (call.fault === 'unanswered' || call.fault === 'late-loss' || !frame) return;
        await answer(host, call, frame);
      }),
    );
    if (calls.some((call) => call.fault === 'late-loss')) host.leave();
    const results = await Promise.all(answers);
    for (const [i, call] of calls.entries()) {
      const allowed: unknown[] = {
        none: [tokens[i]],
        duplicate: [tokens[i]],
        forged: [tokens[i]],
        cancelled: [tokens[i], 'aborted'],
        unanswered: ['host_timeout', 'host_disconnected'],
        'late-loss': ['host_timeout', 'host_disconnected'],
      }[call.fault];
      assert.ok(allowed.includes(results[i]), `${call.fault}: ${String(results[i])}`);
    }
  }

  test(`no caller ever gets the result of another call, in ${interleavings} interleavings with faults`, async () => {
    const lanes = 20;
    const runs = fc.sample(scenario, interleavings);
    // Lanes run at once: their calls interleave with each other as well as within a scenario.
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (let next = runs.pop(); next; next = runs.pop()) {
          const host = await openHost(gateways[next.streamAt], account);
          await play(host, next.calls);
          host.leave();
        }
      }),
    );
  });
});
