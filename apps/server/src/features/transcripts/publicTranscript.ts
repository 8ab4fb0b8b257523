import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { Answer, operation } from '../../kernel/feature.ts';
import { checkVisitor, openShare } from './shares/public.ts';

/** One answer for links that are unknown, expired or revoked, and of accounts that may not share. */
export const publicTranscript = operation(contract.transcripts.publicTranscript, async (context, { params }) => {
  await checkVisitor(context.kernel, context.address);
  const shared = await openShare(context.kernel, params.token);
  if (!shared) throw notFound('shared transcript');
  return new Answer(shared.shown, { headers: { 'cache-control': 'no-store', 'x-robots-tag': 'noindex' } });
});
