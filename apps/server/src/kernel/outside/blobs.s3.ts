import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Config } from '../../config.ts';
import { type Blobs, checkBlobName } from './blobs.ts';

/** Blobs as objects of an S3 bucket. Large bodies go up in parts of 8 MiB, so memory stays flat. */
export function openS3Blobs(settings: NonNullable<Config['s3']>): Blobs {
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
  return {
    async put(name, body) {
      let bytes = 0;
      const counted = Readable.from(
        (async function* () {
          for await (const chunk of body instanceof Readable ? body : [body]) {
            bytes += (chunk as Uint8Array).byteLength;
            yield chunk;
          }
        })(),
        { objectMode: false },
      );
      await new Upload({ client, params: { ...object(name), Body: counted }, partSize: 8 * 1024 * 1024 }).done();
      return bytes;
    },
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
      checkBlobName(prefix.replace(/\/$/, ''));
      const names: string[] = [];
      for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
        for (const { Key } of page.Contents ?? []) if (Key !== undefined) names.push(Key);
      }
      return names.sort();
    },
  };
}

function ifMissing(error: unknown): undefined {
  if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return undefined;
  throw error;
}
