import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../../../kernel/base/clock.ts';
import { shared } from '../../../testing.shared.ts';
import { clientOf, createAccount, http, openHost, openTest, type TestHost, until } from '../../../testing.ts';

/** By hand: where each step leads from each state; absent: refused, or nothing happens. `appear`: a new stream of the host. */
const table: Record<string, Record<string, string>> = {
  waiting: { appear: 'sent', cancel: 'cancelled', expire: 'expired', revoke: 'cancelled' },
  sent: {
    start: 'running',
    other: 'running',
    refuse: 'done',
    ended: 'done',
    cancel: 'cancelled',
    expire: 'expired',
    revoke: 'cancelled',
  },
  running: { start: 'unknown', other: 'unknown', report: 'done', refuse: 'done', ended: 'done', unknown: 'unknown' },
};
const steps = [
  'appear',
  'start',
  'start',
  'other',
  'report',
  'refuse',
  'ended',
  'unknown',
  'cancel',
  'expire',
  'revoke',
  'output',
] as const;
type Step = (typeof steps)[number];

/** `SVC_TEST_MODELS=300` for as many as were shown. */
const histories = Number(process.env['SVC_TEST_MODELS'] ?? 12);
const token = 'the token of this model, long enough';

describe('commands of hosts as a model', () => {
  const clock = testClock();
  const { gateway, second } = shared(() => openTest({ gateways: 2, clock }));

  /** A command and its host, with the steps that may befall them at either gateway. */
  async function scene() {
    const account = await createAccount(gateway);
    const deviceId = randomUUID();
    await clientOf(gateway, account.key, deviceId).devices.list();
    const ask = async (at: typeof gateway, method: string, path: string, body?: object, key = account.key) =>
      http(at.url, path, { method, key, headers: { 'x-svc-device': deviceId }, ...(body && { body }) });
    const { body: made } = await ask(gateway, 'POST', '/v1/keys', { scopes: ['hosts:exec'] });
    const given = await ask(
      gateway,
      'POST',
      `/v1/hosts/${deviceId}/exec`,
      { op: 'shell', if_offline: 'wait', detach: true, expires_in_s: 3_600 },
      made.key,
    );
    const path = `/v1/hosts/exec/${given.body.req_id}`;
    let host: TestHost | undefined;
    const report = (body: object) => (at: typeof gateway) => ask(at, 'POST', `${path}/result`, body);
    const acts: Record<Step, (at: typeof gateway) => Promise<unknown>> = {
      async appear(at) {
        host?.leave();
        await host?.ended;
        host = await openHost(at, account, deviceId, { detached: 'true' });
      },
      start: (at) => ask(at, 'POST', `${path}/start`, { token }),
      other: (at) => ask(at, 'POST', `${path}/start`, { token: `${token} of another` }),
      report: report({ ok: true, result: { exit_code: 0 } }),
      refuse: report({ ok: false, error: 'refused' }),
      ended: report({ ok: false, error: 'cancelled' }),
      unknown: report({ ok: false, error: 'host_restarted', unknown: true }),
      cancel: (at) => ask(at, 'DELETE', path),
      async expire() {
        // In one leap: each loop of two gateways would run thousands of times.
        clock.leap(3_601_000);
      },
      revoke: (at) => ask(at, 'DELETE', `/v1/keys/${made.id}`),
      output: (at) =>
        http(at.url, `${path}/output?offset=0`, {
          method: 'POST',
          key: account.key,
          headers: { 'x-svc-device': deviceId, 'content-type': 'application/octet-stream' },
          raw: 'text',
        }),
    };
    const state = async () => (await ask(gateway, 'GET', path)).body.state as string;
    return { acts, state, leave: () => host?.leave() };
  }

  test(`two gateways: every step of ${histories} random histories leads where the table says, or changes nothing`, async () => {
    const step = fc.record({ what: fc.constantFrom(...steps), at: fc.nat(1) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (given) => {
        const { acts, state, leave } = await scene();
        let expected = 'waiting';
        let isAsked = false;
        /** The step that started it, with a token of its own. */
        let startedBy: Step | undefined;
        for (const { what, at } of given) {
          await acts[what]([gateway, second][at] as typeof gateway);
          const next = nextOf(expected, what, { isAsked, startedBy });
          if (expected === 'sent' && next === 'running') startedBy = what;
          if (expected === 'running' && (what === 'cancel' || what === 'revoke')) isAsked = true;
          expected = next;
          // What time and keys end, and what a stream is told, follows in its time.
          await until(async () => {
            if ((await state()) === expected) return true;
            // A clock that runs on would end what a busy machine has not told its host of yet.
            if (what === 'expire' || what === 'revoke') clock.advance(500);
            return false;
          }).catch(async () => assert.fail(`${what}: ${await state()}, not ${expected}`));
        }
        leave();
      }),
      { numRuns: histories, endOnFailure: true },
    );
  });
});

function nextOf(
  from: string,
  what: Step,
  { isAsked, startedBy }: { isAsked: boolean; startedBy: Step | undefined },
): string {
  if (from === 'running' && what === startedBy) return from;
  if (from === 'running' && what === 'ended' && isAsked) return 'cancelled';
  return table[from]?.[what] ?? from;
}
