import { contract } from '@svc/contract';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import type { Uploads } from './uploads.store.ts';
import {
  checkNoConcat,
  checkPieceType,
  checksumOf,
  checkVersion,
  lengthOf,
  metadataOf,
  reprDigestOf,
} from './uploads.tus.ts';
import { offsetHeaders, toUpload } from './uploads.view.ts';

export const create = (uploads: Uploads): Operation =>
  operation(contract.uploads.create, async (context, { headers }) => {
    checkVersion(headers['tus-resumable']);
    checkNoConcat(context.headers['upload-concat']);
    const { uploadMaxBytes } = context.kernel.config;
    const length = lengthOf(headers['upload-length'], headers['upload-defer-length'], uploadMaxBytes);
    const metadata = headers['upload-metadata']?.trim() ?? '';
    metadataOf(headers['upload-metadata']);
    const checksum = checksumOf(headers['upload-checksum']);
    const sha256 = reprDigestOf(headers['repr-digest']);
    const isWithPiece = context.givenType !== '';
    if (isWithPiece) checkPieceType(context.givenType);
    const { accountId } = context.actor;
    let row = await context.transaction((tx) => uploads.create(tx, accountId, { length, metadata, sha256 }));
    if (isWithPiece) {
      try {
        const { upload: body, bodyLength } = context;
        row = await uploads.append(row, {
          start: 0,
          body,
          length: bodyLength,
          checksum,
          sha256: undefined,
          isWhole: true,
        });
      } catch (error) {
        // Its client never hears of it.
        await uploads.remove(accountId, row.id);
        throw error;
      }
    }
    return new Answer(toUpload(row), { headers: { location: `/v1/uploads/${row.id}`, ...offsetHeaders(row) } });
  });
