import { plainText, translate } from '@svc/inference';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Inference, targetOf } from '../inference/index.ts';
import type { Sessions } from '../sessions/index.ts';
import type { Prompts } from './prompts.store.ts';
import type { PromptRow } from './prompts.sql.ts';
import { type Evidence, hasEvidence, nothingKnown, questionOf, readVerdict } from './prompts.verdict.ts';

/** Document 1: verification uses this alias. */
const model = 'svc-fast';
const mostTokens = 2_000;
/** UTF-16 units; of a longer one the end counts. */
const mostTranscript = 120_000;
const isUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The features that verification uses. */
export interface VerifyParts {
  prompts: Prompts;
  sessions: Sessions;
  inference: Inference;
}

/**
 * Lets a model judge the work of a prompt by the transcript of its session and what the client sends, and keeps the report.
 * Without anything to judge by it is `not_started`, and no model is asked. Throws 404, and 502 when no provider answers or none gives a verdict, after one try to mend it.
 */
export async function verifyPrompt(
  context: Context,
  { prompts, sessions, inference }: VerifyParts,
  id: string,
  given: Pick<Evidence, 'diff' | 'files'> = {},
): Promise<PromptRow> {
  const { accountId } = context.actor;
  const row = await prompts.get(context.db, accountId, id);
  const transcript = await transcriptOf(context, sessions, row);
  const evidence = { prompt: row.prompt, transcript, ...given };
  const report = hasEvidence(evidence) ? await judge(context, inference, evidence) : nothingKnown;
  return context.transaction(async (tx) => prompts.report(tx, await prompts.lock(tx, accountId, id), report));
}

/** Of the session whose turn matched, or that the launch opened; empty when neither is one of the account's. */
async function transcriptOf(
  { db, actor }: Context,
  sessions: Sessions,
  row: PromptRow,
): Promise<Evidence['transcript']> {
  for (const id of [row.match_ref, row.run_session_id]) {
    if (id === null || !isUuid.test(id)) continue;
    try {
      await sessions.get(db, actor.accountId, id);
      return await sessions.record(db, id, mostTranscript);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return [];
}

async function judge(context: Context, inference: Inference, evidence: Evidence) {
  const messages = questionOf(evidence);
  const first = await ask(context, inference, messages);
  const verdict = readVerdict(first);
  if ('report' in verdict) return verdict.report;
  const repair = `That was no valid answer: ${verdict.wrong}. Answer with the JSON object alone.`;
  const more = [
    { role: 'assistant', content: first === '' ? '(nothing)' : first.slice(0, 8_000).toWellFormed() },
    { role: 'user', content: repair },
  ];
  const second = readVerdict(await ask(context, inference, [...messages, ...more]));
  if ('report' in second) return second.report;
  throw new ApiError('upstream_error', `${model} gave no verdict in two tries: ${second.wrong}; try again`);
}

/** One answer of the model, as text. */
async function ask(context: Context, inference: Inference, messages: object[]): Promise<string> {
  const body = { model, messages, max_tokens: mostTokens, stream: true };
  let said = '';
  await inference.inTurns(context, body, inference.choicesFor(context, model), async (askTurn) => {
    const { reply } = await askTurn({
      protocol: 'chat',
      bytes: Buffer.byteLength(JSON.stringify(messages)),
      isLive: false,
      bodyFor: (choice) => JSON.stringify(translate('chat', body, targetOf(choice)).body),
      hear: () => Promise.resolve(),
    });
    // Its use is recorded with what it cost.
    context.accountItself();
    said = plainText(reply.blocks);
    return { status: 200, sent: said.length };
  });
  return said;
}
