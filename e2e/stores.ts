import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Blobs, openFileBlobs } from '../apps/server/src/kernel/outside/blobs.ts';
import { openS3Blobs } from '../apps/server/src/kernel/outside/blobs.s3.ts';

const bucket = 'svc-e2e';

/** Where blobs lie: the settings that say so, and the blobs as they are there. */
export interface Store extends AsyncDisposable {
  settings: Record<string, string>;
  blobs: Blobs;
}

/** The part of `s3rver` that is used here; it has no types of its own. */
type S3Server = { run(): Promise<{ port: number }>; close(): Promise<void> };

/** Opens the store of a platform's data dir: S3 is a server in this process, whose files lie beside it. */
export async function openStore(kind: 'files' | 'S3', dataDir: string): Promise<Store> {
  if (kind === 'files') {
    const blobs = openFileBlobs(join(dataDir, 'blobs'));
    return { settings: {}, blobs, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => S3Server;
  const directory = `${dataDir}-s3`;
  mkdirSync(directory);
  const address = { port: 0, address: '127.0.0.1' };
  const server = new S3rver({ ...address, silent: true, directory, configureBuckets: [{ name: bucket }] });
  const { port } = await server.run();
  const endpoint = `http://127.0.0.1:${port}`;
  const [accessKeyId, secretAccessKey] = ['S3RVER', 'S3RVER'];
  return {
    settings: {
      SVC_S3_ENDPOINT: endpoint,
      SVC_S3_BUCKET: bucket,
      SVC_S3_ACCESS_KEY_ID: accessKeyId,
      SVC_S3_SECRET_ACCESS_KEY: secretAccessKey,
    },
    blobs: openS3Blobs({ endpoint, bucket, region: 'us-east-1', accessKeyId, secretAccessKey }, dataDir),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
