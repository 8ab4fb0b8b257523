import { missingBlob } from '../../kernel/outside/blobs.ts';
import { createHash, type Hash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Db } from '../../kernel/db/db.ts';
import { ApiError, badRequest, notFound } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { Digests } from './uploads.digests.ts';
import { conflict, mismatch, pieceOf, replacedError, tooLong } from './uploads.piece.ts';
import {
  allParts,
  claimUpload,
  commitPart,
  countParts,
  deleteParts,
  deleteUpload,
  dropPart,
  expireUpload,
  fencePart,
  findUpload,
  insertUpload,
  isCounted,
  type PartRow,
  releaseUploads,
  storedParts,
  takeUpload,
  uploadBytesQuota,
  type UploadRow,
  uploadsQuota,
  type Write,
} from './uploads.sql.ts';
import type { Checksum } from './uploads.tus.ts';
import { Writers } from './uploads.writers.ts';

/** A 2 GiB upload in pieces of 210 kB. */
const mostParts = 10_000;
/** In S3 each takes some 20 ms. */
const deletesAtOnce = 32;
const fullDisk = new Set(['ENOSPC', 'EDQUOT']);

/** A piece that a request brings. */
interface Piece {
  /** Where it begins. */
  readonly start: number;
  readonly body: Readable;
  /** Bytes that the request says it has; 0 where it does not say. */
  readonly length: number;
  readonly checksum: Checksum | undefined;
  /** Of the whole upload, as the client gives it now. */
  readonly sha256: Buffer | undefined;
  /** Nothing is kept of it when its connection is cut. */
  readonly isWhole: boolean;
}

/** Where the blob of a piece is. */
const blobOf = (accountId: string, id: string, { start, token }: Pick<PartRow, 'start' | 'token'>): string =>
  `uploads/${accountId}/${id}/${start}-${token}`;

/** Uploads of all accounts, as the routes and other features use them. */
export class Uploads {
  readonly #kernel: Kernel;
  readonly #writers: Writers;
  readonly #digests = new Digests();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#writers = new Writers(kernel);
  }

  /** Hears of what happens at other gateways. */
  start(): Promise<void> {
    return this.#writers.start();
  }

  /** Begins an upload. Throws 429 when the account has too many that nobody took. */
  async create(
    tx: Db,
    accountId: string,
    { length, metadata, sha256 }: { length: number; metadata: string; sha256: Buffer | undefined },
  ): Promise<UploadRow> {
    const { config, clock } = this.#kernel;
    await checkQuota(config, tx, uploadsQuota, accountId);
    await checkQuota(config, tx, uploadBytesQuota, accountId, length);
    return insertUpload(tx, clock, { id: randomUUID(), accountId, length, metadata, sha256: sha256 ?? null });
  }

  /** Throws 404, and 410 for one that expired. */
  async get(db: Db, accountId: string, id: string): Promise<UploadRow> {
    const row = await findUpload(db, this.#kernel.clock, accountId, id);
    if (!row) throw notFound('upload');
    if (row.is_gone) throw new ApiError('upload_gone', 'this upload expired; begin another one');
    return row;
  }

  /**
   * Stores a piece: its blob is on disk before the offset counts it. Throws 409 when the upload stands elsewhere or a newer
   * request takes over, 400 past its end, 460 for another checksum, 503 when there is no room.
   */
  async append(row: UploadRow, piece: Piece): Promise<UploadRow> {
    const { sql, clock } = this.#kernel;
    if (piece.start !== row.at) throw conflict(`the upload is at ${row.at}`, row.at);
    if (piece.length > row.length - row.at) throw tooLong();
    // Nothing comes, and nothing is to be taken.
    if (row.completed_at !== null) return row;
    const write: Write = { id: row.id, start: piece.start, token: randomUUID() };
    const taken = await takeUpload(sql, clock, write, mostParts);
    if (!taken) throw await this.#refusal(row);
    if (taken.was_written) this.#writers.tell({ id: row.id, no: taken.no });
    return this.#writers.run({ id: row.id, no: taken.no }, (replaced) =>
      this.#write(row, { ...write, no: taken.no }, piece, replaced),
    );
  }

  async #refusal(row: UploadRow): Promise<ApiError> {
    const { sql } = this.#kernel;
    const now = await this.get(sql, row.account_id, row.id);
    if (now.at !== row.at) return conflict(`the upload is at ${now.at}`, now.at);
    if ((await countParts(sql, row.id)) < mostParts)
      return conflict('the upload changed meanwhile; ask for its offset');
    return badRequest(`an upload has at most ${mostParts} pieces; begin again and use larger chunks`);
  }

  async #write(row: UploadRow, write: Write & { no: number }, piece: Piece, replaced: AbortSignal): Promise<UploadRow> {
    const { sql, clock, blobs } = this.#kernel;
    const blob = blobOf(row.account_id, row.id, write);
    const sha256 = piece.sha256 ?? row.sha256 ?? undefined;
    const most = row.length - row.at;
    let counted: UploadRow | undefined;
    try {
      const whole = sha256 && this.#digests.at(row.id, row.at);
      const { checksum, isWhole } = piece;
      const bytes = await blobs.put(blob, pieceOf(piece.body, { most, checksum, isWhole, whole, replaced }));
      if (bytes === 0) return row;
      const isLast = bytes === most;
      if (sha256 && isLast) {
        const hash = whole ?? (await this.#digest(row, write, replaced));
        if (!hash.digest().equals(sha256)) throw mismatch();
      }
      counted = await commitPart(sql, clock, { ...write, bytes, sha256: piece.sha256 ?? null });
      if (!counted) throw conflict('another request wrote to this upload meanwhile; ask for its offset');
      if (isLast) this.#digests.forget(row.id);
      else if (whole) this.#digests.keep(row.id, counted.at, whole);
      return counted;
    } catch (error) {
      if (fullDisk.has(String((error as { code?: unknown }).code)))
        throw new ApiError('unavailable', 'there is no room for this piece; try again later');
      throw error;
    } finally {
      if (!counted) await this.#withdraw(blob, write);
    }
  }

  /**
   * Deletes a piece that is not counted. Where the connection broke nobody heard whether it is: its bytes stay until the
   * database says so, and are swept with its row otherwise.
   */
  async #withdraw(blob: string, write: Write & { no: number }): Promise<void> {
    const { sql, blobs } = this.#kernel;
    await fencePart(sql, write);
    if (await isCounted(sql, write)) return;
    await blobs.delete(blob);
    await dropPart(sql, write);
  }

  /** The digest of what is stored with a piece that is not counted yet, read once more. Throws 409 when it is replaced. */
  async #digest(row: UploadRow, write: Write, replaced: AbortSignal): Promise<Hash> {
    const hash = createHash('sha256');
    const take = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
      for await (const chunk of bytes) {
        if (replaced.aborted) throw replacedError();
        hash.update(chunk);
      }
    };
    await take(this.read(row));
    // The piece may be tried again.
    this.#digests.keep(row.id, row.at, hash.copy());
    const blob = await this.#kernel.blobs.get(blobOf(row.account_id, row.id, write));
    if (!blob) throw missingBlob('a piece of this upload');
    await take(blob.body as AsyncIterable<Buffer>);
    return hash;
  }

  /** A complete upload that no transcript has. Throws 404, 410, 409 `upload_incomplete`, 423 `upload_locked`. */
  async whole(db: Db, accountId: string, id: string): Promise<UploadRow> {
    const row = await this.get(db, accountId, id);
    if (row.transcript_id !== null) throw locked('another transcript has this upload; upload the file again');
    if (row.completed_at !== null) return row;
    throw new ApiError('upload_incomplete', `this upload has ${row.at} of ${row.length} bytes; send the rest`);
  }

  /** Gives a complete upload to a transcript: it does not expire any more. Throws 423 when another one has it by now. */
  async claim(tx: Db, accountId: string, id: string, transcriptId: string): Promise<void> {
    if (await claimUpload(tx, { accountId, id, transcriptId })) return;
    throw locked('this upload was taken or deleted meanwhile; upload the file again');
  }

  /** Lets the uploads of a transcript go that is deleted. */
  release(tx: Db, transcriptId: string): Promise<void> {
    return releaseUploads(tx, this.#kernel.clock, transcriptId);
  }

  /** The stored bytes of an upload, in order. */
  async *read(row: Pick<UploadRow, 'id' | 'account_id'>): AsyncGenerator<Buffer> {
    const { sql, blobs } = this.#kernel;
    for (const part of await storedParts(sql, row.id)) {
      const blob = await blobs.get(blobOf(row.account_id, row.id, part));
      if (!blob || blob.bytes !== part.bytes) throw missingBlob('a piece of this upload');
      try {
        yield* blob.body as AsyncIterable<Buffer>;
      } finally {
        blob.body.destroy();
      }
    }
  }

  /** Deletes an upload. Throws 404, 410, and 423 when a transcript has it. */
  async remove(accountId: string, id: string): Promise<void> {
    const { sql, clock } = this.#kernel;
    await this.get(sql, accountId, id);
    // First nobody can take it or go on with it: what is written meanwhile is not counted.
    if (!(await expireUpload(sql, clock, id))) throw locked('a transcript has this upload; delete the transcript');
    await this.dropBytes(accountId, id);
    await deleteUpload(sql, id);
  }

  /** Deletes the bytes of an upload, counted or not. */
  async dropBytes(accountId: string, id: string): Promise<void> {
    const { sql, blobs } = this.#kernel;
    this.#digests.forget(id);
    const parts = await allParts(sql, id);
    for (let from = 0; from < parts.length; from += deletesAtOnce) {
      const some = parts.slice(from, from + deletesAtOnce);
      await Promise.all(some.map((part) => blobs.delete(blobOf(accountId, id, part))));
    }
    await deleteParts(sql, id);
  }
}

const locked = (message: string): ApiError => new ApiError('upload_locked', message);
