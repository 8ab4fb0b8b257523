import { randomUUID } from 'node:crypto';
import { Settling } from '../../apps/server/src/features/transcripts/pipeline/settle.ts';
import { changeStep, lockDue, stepsOf } from '../../apps/server/src/features/transcripts/pipeline/steps.sql.ts';
import {
  moveOfStep,
  stepMachine,
  type StepMove,
  transcriptMachine,
  type TranscriptMove,
} from '../../apps/server/src/features/transcripts/transcripts.moves.ts';
import { Transcripts } from '../../apps/server/src/features/transcripts/transcripts.store.ts';
import { inTransaction, type Sql } from '../../apps/server/src/kernel/db/db.ts';
import { readNow } from '../../apps/server/src/kernel/db/instant.ts';
import { createAccount, http, type TestAccount } from '../../apps/server/src/testing.ts';
import { edgesOf, kernelOn, type Subject, subjectOf } from './subject.ts';
import type { World } from './world.ts';

/** Transcripts and the steps of their processing. */
export async function transcriptSubjects(world: World): Promise<Subject[]> {
  const account = await createAccount(world.helper);
  return [transcriptSubject(world, account), stepSubject(world, account)];
}

/** Steps and charges are written beside the moves. */
const beside = ['a transcript that is worked on', 'what a transcript was charged for'];

const newTranscript = async ({ helper }: World, { key }: TestAccount): Promise<string> => {
  const answer = await http(helper.url, '/v1/transcripts', { key, body: { source: 'microphone' } });
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body.transcript.id as string;
};

function transcriptSubject(world: World, account: TestAccount): Subject {
  const { sql, helper } = world;
  const { keyId } = account;
  const given: Record<string, object> = {
    finalize: {
      hash: Buffer.alloc(32),
      durationMs: 1,
      previewText: null,
      keyId,
      audioExpiresAt: '2027-01-01T00:00:00Z',
    },
    hear: { language: 'en', degraded: [], editsLost: 0, bytes: 1 },
    analyze: { insights: {}, degraded: [] },
    fail: { error: 'failed' },
    retranscribe: { keyId },
    reanalyze: { keyId },
  };
  return subjectOf(sql, {
    table: 'transcripts.transcripts',
    beside,
    edges: edgesOf(transcriptMachine),
    first: 'recording',
    create: () => newTranscript(world, account),
    perform: (by, id, move) =>
      inTransaction(by, async (tx) => {
        const transcripts = new Transcripts(kernelOn(helper.kernel, by));
        const row = await transcripts.lock(tx, account.id, id);
        const now = await readNow(tx, helper.kernel.clock);
        return (await transcripts.move(tx, now, row, move as TranscriptMove, given[move] ?? {}))?.state;
      }),
  });
}

function stepSubject(world: World, account: TestAccount): Subject {
  const { sql, helper } = world;
  const { kernel } = helper;
  const gatewayId = kernel.gateways.id;
  const soon = new Date(kernel.clock.now() + 60_000).toISOString();
  const now = new Date(kernel.clock.now()).toISOString();
  const given: Record<string, object> = {
    finish: { result: null, costMicroUsd: 1 },
    retry: { error: 'once more', dueAt: now },
    refuse: { error: 'never' },
    handBack: { dueAt: now, error: null },
  };
  const settlingOn = (by: Sql): Settling =>
    new Settling(kernelOn(kernel, by), new Transcripts(kernelOn(kernel, by)), {} as never);
  const take = (by: Sql): Promise<string | undefined> =>
    inTransaction(by, async (tx) => {
      const [step] = await lockDue(tx, kernel.clock, ['window'], { total: 1, ofOne: 1, taken: new Map() });
      const change = step && moveOfStep(step, 'take', { gatewayId, leaseUntil: soon }, await readNow(tx, kernel.clock));
      if (step && change) await changeStep(tx, step.id, change);
      return change?.state;
    });
  const reset = (by: Sql, transcriptId: string, id: string): Promise<string | undefined> =>
    inTransaction(by, async (tx) => {
      const row = await new Transcripts(kernelOn(kernel, by)).lock(tx, account.id, transcriptId);
      const step = (await stepsOf(tx, row.id, row.generation)).find((one) => one.id === id);
      const change = step && moveOfStep(step, 'reset', {}, await readNow(tx, kernel.clock));
      if (change) await changeStep(tx, id, change);
      return change?.state;
    });
  return subjectOf(sql, {
    table: 'transcripts.steps',
    beside,
    edges: edgesOf(stepMachine),
    first: 'waiting',
    async create() {
      await sql`delete from transcripts.steps`;
      const id = await newTranscript(world, account);
      await inTransaction(sql, async (tx) => {
        const row = await new Transcripts(kernel).lock(tx, account.id, id);
        await settlingOn(sql).plan({ tx, row }, [{ kind: 'window', n: 1 }]);
      });
      const [step] = await sql<{ id: string }[]>`select id from transcripts.steps where transcript_id = ${id}`;
      return step?.id ?? randomUUID();
    },
    perform: async (by, id, move) => {
      if (move === 'take') return take(by);
      const [step] = await sql<{ transcript_id: string; attempt: number }[]>`
        select transcript_id, attempt from transcripts.steps where id = ${id}`;
      if (!step) return undefined;
      if (move === 'reset') return reset(by, step.transcript_id, id);
      const settling = settlingOn(by);
      const of = { id, account_id: account.id, ...step, attempt: Math.max(1, step.attempt) };
      return settling.with(
        of,
        async (held) => (await settling.move(held, move as StepMove, (given[move] ?? {}) as never)).state,
      );
    },
  });
}
