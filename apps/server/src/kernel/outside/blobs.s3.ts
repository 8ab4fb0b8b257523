import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Config } from '../../config.ts';
import { type Blobs, checkBlobName } from './blobs.ts';
import { restStart, roomsOf } from './blobs.rest.ts';

/** Of a body; a smaller one is one object. */
const partBytes = 8 * 1024 * 1024;
/** Bodies in memory while they are sent: 48 MiB. */
const sentAtOnce = 6;

/**
 * Blobs as objects of an S3 bucket. Up to 8 MiB of a body wait in `folder` until it has come; a larger one goes up in parts
 * of as much, so memory stays flat.
 */
export function openS3Blobs(settings: NonNullable<Config['s3']>, folder: string): Blobs {
  const { bucket, region, endpoint, accessKeyId, secretAccessKey } = settings;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
    // Servers other than Amazon's often lack the newer checksum trailers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const object = (name: string) => {
    checkBlobName(name);
    return { Bucket: bucket, Key: name };
  };
  const send = senderOf(client, folder);
  return {
    put: async (name, body) => send(object(name), body),
    async get(name, range) {
      const Range = range && `bytes=${range.start}-${range.end ?? ''}`;
      try {
        const answer = await client.send(new GetObjectCommand({ ...object(name), ...(Range && { Range }) }));
        return { body: answer.Body as Readable, bytes: answer.ContentLength ?? 0 };
      } catch (error) {
        if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 416) {
          return { body: Readable.from([]), bytes: 0 };
        }
        return ifMissing(error);
      }
    },
    async size(name) {
      const answer = await client.send(new HeadObjectCommand(object(name))).catch(ifMissing);
      return answer?.ContentLength;
    },
    async delete(name) {
      await client.send(new DeleteObjectCommand(object(name)));
    },
    async list(prefix) {
      if (prefix !== '') checkBlobName(prefix.replace(/\/$/, ''));
      const names: string[] = [];
      for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
        for (const { Key } of page.Contents ?? []) if (Key !== undefined) names.push(Key);
      }
      return names.sort();
    },
  };
}

/** Stores a body as an object, and answers its bytes. */
function senderOf(client: S3Client, folder: string) {
  const inRoom = roomsOf(sentAtOnce, partBytes);
  return async (target: { Bucket: string; Key: string }, body: Readable | Uint8Array): Promise<number> => {
    const sendWhole = async (bytes: Uint8Array): Promise<number> => {
      await client.send(new PutObjectCommand({ ...target, Body: bytes }));
      return bytes.byteLength;
    };
    if (!(body instanceof Readable)) return sendWhole(body);
    const chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    await using start = await restStart(folder, chunks, partBytes);
    if (start.isWhole) return await inRoom(async (room) => sendWhole(await start.read(room)));
    let bytes = 0;
    const all = counted(start, chunks, (more) => {
      bytes += more;
    });
    const Body = Readable.from(all, { objectMode: false });
    await new Upload({ client, params: { ...target, Body }, partSize: partBytes }).done();
    return bytes;
  };
}

async function* counted(
  start: { read(): Promise<Buffer> },
  rest: AsyncIterator<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const first = await start.read();
  count(first.byteLength);
  yield first;
  for await (const chunk of { [Symbol.asyncIterator]: () => rest }) {
    count(chunk.byteLength);
    yield chunk;
  }
}

function ifMissing(error: unknown): undefined {
  if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return undefined;
  throw error;
}
