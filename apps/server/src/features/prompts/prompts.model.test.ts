import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest, until } from '../../testing.ts';
import { providersFile, TestProvider } from '../inference/inference.testing.ts';
import { openDevice } from '../sessions/sessions.testing.ts';
import { judges, reportTurn, verdictOf } from './prompts.testing.ts';

/** The table of document 1, by hand: where each step leads from each state; absent: refused, or nothing happens. */
const table: Record<string, Record<string, string>> = {
  open: {
    launch: 'launched',
    match: 'sent',
    turn: 'answered',
    start: 'sent',
    done: 'done',
    dismissed: 'dismissed',
    snooze: 'open',
    verify: 'verified',
    newer: 'superseded',
  },
  launched: {
    launch: 'launched',
    match: 'sent',
    turn: 'answered',
    start: 'sent',
    done: 'done',
    dismissed: 'dismissed',
    verify: 'verified',
  },
  sent: {
    launch: 'launched',
    match: 'sent',
    turn: 'answered',
    start: 'sent',
    end: 'answered',
    done: 'done',
    dismissed: 'dismissed',
    verify: 'verified',
  },
  answered: {
    launch: 'launched',
    match: 'sent',
    turn: 'answered',
    start: 'sent',
    done: 'done',
    dismissed: 'dismissed',
    verify: 'verified',
  },
  verified: { launch: 'launched', done: 'done', dismissed: 'dismissed', verify: 'verified' },
  done: { verify: 'verified' },
  dismissed: { verify: 'verified' },
  superseded: { verify: 'verified' },
};
const steps = [
  'launch',
  'match',
  'turn',
  'start',
  'end',
  'done',
  'dismissed',
  'snooze',
  'verify',
  'doubt',
  'newer',
] as const;
const text = 'Check the smoke detectors in every room and write down which batteries are old';

describe('prompts as a model', () => {
  const clock = testClock();
  const provider = new TestProvider();
  const { gateway, second } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { url } = await opening.use(provider).listen();
    const lanes = [{ id: 'judge', kind: 'openai', base_url: `${url}/v1`, models: ['j-1'] }];
    const file = opening.use(providersFile({ lanes, aliases: { 'svc-fast': ['judge'] } }));
    const t = opening.use(await openTest({ clock, gateways: 2, settings: { SVC_PROVIDERS: file.path } }));
    const stack = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  test('two devices at two gateways: every step leads where the table of document 1 says, or changes nothing', async () => {
    const step = fc.record({ what: fc.constantFrom(...steps), at: fc.nat(1) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (given) => {
        const account = await createAccount(gateway);
        const here = await openDevice(gateway, account, { platform: 'desktop' });
        const there = await openDevice(second, account, { id: here.id, platform: 'desktop' });
        const { id } = (await here.ask('POST', '/v1/prompts', { prompt: text, goal_key: 'g' })).body;
        const session = (await here.ask('POST', '/v1/sessions', {})).body.id;
        const { sql } = gateway.kernel;
        /** Nothing is left to be told to other features. */
        const quiet = () =>
          until(async () => {
            const [row] = await sql<
              { n: number }[]
            >`select count(*)::int as n from sessions.turns where account_id = ${account.id}`;
            if (row?.n !== 0) clock.advance(100);
            return row?.n === 0;
          });
        let state = 'open';
        let turns = 0;
        /** Turns of the session that have begun and not ended, and the one that the prompt is in. */
        let begun: string | undefined;
        let carries: string | undefined;
        /** A launch waits: nobody takes it here, so another one changes nothing. */
        let waits = false;
        for (const { what, at } of given) {
          const device = at === 0 ? here : there;
          const path = `/v1/prompts/${id}`;
          let next = table[state]?.[what];
          let status = 200;
          if (what === 'launch' && waits && next !== undefined) next = state;
          if (what === 'launch' && next !== undefined) waits = true;
          // Closing takes it back; a verdict may open the prompt again.
          if ((what === 'done' || what === 'dismissed') && next !== undefined) waits = false;
          if (what === 'turn' || what === 'start') {
            const turnId = `turn-${(turns += 1)}`;
            await reportTurn(device, session, text, { turnId, ends: what === 'turn' });
            if (next !== undefined) carries = turnId;
            if (what === 'start') begun = turnId;
          } else if (what === 'end') {
            if (carries === undefined || carries !== begun) next = undefined;
            if (begun !== undefined) {
              const { seq } = (await device.ask('GET', `/v1/sessions/${session}`)).body;
              const events = [{ type: 'turn_end', turn_id: begun }];
              await device.ask('POST', `/v1/sessions/${session}/events`, { expected_seq: seq, events });
            }
          } else if (what === 'verify' || what === 'doubt') {
            judges(provider, verdictOf(what === 'verify' ? 'done' : 'partial'));
            ({ status } = await device.ask('POST', `${path}/verify`, { diff: '+ something' }));
            assert.equal(status, 200);
          } else if (what === 'newer') {
            const newer = await device.ask('POST', '/v1/prompts', {
              prompt: `Newer ${turns} ${Math.random()}`,
              goal_key: 'g',
            });
            assert.equal(newer.status, 201);
          } else {
            const turn = { match_ref: 'elsewhere', match_turn_id: 't' };
            const answer =
              what === 'launch'
                ? await device.ask('POST', `${path}/launch`)
                : what === 'match'
                  ? await device.ask('POST', `${path}/match`, turn)
                  : await device.ask(
                      'PATCH',
                      path,
                      what === 'snooze' ? { not_before: '2099-01-01' } : { status: what },
                    );
            assert.equal(answer.status < 300, next !== undefined, `${state} ${what}: ${answer.status}`);
            if (answer.status >= 300) assert.ok([400, 409].includes(answer.status));
            if (what === 'match' && next !== undefined) carries = 'elsewhere';
          }
          await quiet();
          state = next ?? state;
          for (const one of [here, there]) {
            const read = (await one.ask('GET', path)).body.prompt;
            assert.equal(read.status, state, `after ${what}`);
            if (what === 'doubt') assert.equal(read.report.verdict, 'partial');
          }
        }
      }),
      { numRuns: Number(process.env['SVC_TEST_MODELS'] ?? 10) },
    );
  });
});
