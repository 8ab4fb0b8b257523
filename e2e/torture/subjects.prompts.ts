import { randomUUID } from 'node:crypto';
import {
  launches,
  type LaunchMove,
  moveLaunch,
} from '../../apps/server/src/features/prompts/prompts.launches.moves.ts';
import { lockLaunch } from '../../apps/server/src/features/prompts/prompts.launches.sql.ts';
import { movePrompt, type PromptMoveName, prompts } from '../../apps/server/src/features/prompts/prompts.moves.ts';
import { lockPrompt } from '../../apps/server/src/features/prompts/prompts.sql.ts';
import { inTransaction } from '../../apps/server/src/kernel/db/db.ts';
import { readNow } from '../../apps/server/src/kernel/db/instant.ts';
import { createAccount, http, type TestAccount } from '../../apps/server/src/testing.ts';
import { edgesOf, type Subject, subjectOf } from './subject.ts';
import type { World } from './world.ts';

/** Prompts and their launches. */
export async function promptSubjects(world: World): Promise<Subject[]> {
  const account = await createAccount(world.helper);
  return [promptSubject(world, account), launchSubject(world, account)];
}

/** The store writes these beside the moves, in their transactions. */
const beside = [
  'a prompt can be matched by its words',
  'a prompt that was launched has its launch',
  'a launch waits as long as its control does',
  'a row has the row that it is of',
];

const newPrompt = async ({ helper }: World, { key }: TestAccount): Promise<string> => {
  const body = { prompt: `do ${randomUUID()}`, source: 'manual' };
  const answer = await http(helper.url, '/v1/prompts', { key, body });
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body.id as string;
};

function promptSubject(world: World, account: TestAccount): Subject {
  const { sql, helper } = world;
  const { clock } = helper.kernel;
  const given: Record<string, object> = {
    snooze: { notBefore: null, armedAt: null, reminds: false, keyId: account.keyId },
    supersede: { by: randomUUID() },
    launch: { sessionId: randomUUID() },
    refuse: { outcome: { ok: false, error: 'no' } },
    match: { ref: 'ref', turnId: 'turn' },
    answer: { ref: 'ref', turnId: 'turn', outcome: null },
    verify: { report: { verdict: 'done', summary: 'done' } },
  };
  return subjectOf(sql, {
    table: 'prompts.prompts',
    beside,
    edges: edgesOf(prompts),
    first: 'open',
    create: () => newPrompt(world, account),
    perform: (by, id, move) =>
      inTransaction(by, async (tx) => {
        const row = await lockPrompt(tx, account.id, id);
        const now = await readNow(tx, clock);
        return row && (await movePrompt(tx, now, row, move as PromptMoveName, (given[move] ?? {}) as never))?.state;
      }),
  });
}

function launchSubject(world: World, account: TestAccount): Subject {
  const { sql, helper } = world;
  const { clock } = helper.kernel;
  const deviceId = randomUUID();
  const given: Record<string, object> = {
    adopt: { deviceId },
    take: { deviceId },
    begin: { turnId: 'turn', deviceId },
    finish: { outcome: null },
    fail: { outcome: null },
  };
  return subjectOf(sql, {
    table: 'prompts.runs',
    beside,
    edges: edgesOf(launches),
    first: 'waiting',
    async create() {
      const prompt = await newPrompt(world, account);
      // Of its own: a device has 200 controls that wait at most.
      const target = randomUUID();
      const headers = { 'x-svc-device': target, 'x-svc-device-name': 'One', 'x-svc-device-platform': 'desktop' };
      await http(helper.url, '/v1/devices', { key: account.key, headers });
      const path = `/v1/prompts/${prompt}/launch`;
      await http(helper.url, path, { key: account.key, body: { target_device_id: target } });
      const [run] = await sql<{ id: string }[]>`select id from prompts.runs where prompt_id = ${prompt}`;
      if (!run) throw new Error('no launch');
      return run.id;
    },
    perform: async (by, id, move) => {
      const [found] = await sql<{ session_id: string }[]>`select session_id from prompts.runs where id = ${id}`;
      return inTransaction(by, async (tx) => {
        const row = await lockLaunch(tx, { sessionId: found?.session_id ?? '' });
        const now = await readNow(tx, clock);
        return row && (await moveLaunch(tx, now, row, move as LaunchMove, (given[move] ?? {}) as never))?.state;
      });
    },
  });
}
