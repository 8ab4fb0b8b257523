import { contract, type RouteParsed } from '@svc/contract';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import type { Uploads } from './uploads.store.ts';
import { checkPieceType, checksumOf, checkVersion, countOf, reprDigestOf } from './uploads.tus.ts';
import { offsetHeaders } from './uploads.view.ts';

export const append = (uploads: Uploads): Operation =>
  operation(contract.uploads.append, (context, input) => appendPiece(uploads, context, input));

/** Takes the piece of a PATCH, or of a POST that stands for one. */
export async function appendPiece(
  uploads: Uploads,
  context: Context,
  { params, headers }: Pick<RouteParsed<typeof contract.uploads.append>, 'params' | 'headers'>,
): Promise<Answer<undefined>> {
  checkVersion(headers['tus-resumable']);
  const row = await uploads.get(context.db, context.actor.accountId, params.id);
  checkPieceType(context.givenType);
  const start = countOf('Upload-Offset', headers['upload-offset']);
  const checksum = checksumOf(headers['upload-checksum']);
  const sha256 = reprDigestOf(headers['repr-digest']);
  const { upload: body, bodyLength: length } = context;
  const now = await uploads.append(row, { start, body, length, checksum, sha256, isWhole: false });
  return new Answer(undefined, { headers: offsetHeaders(now) });
}
