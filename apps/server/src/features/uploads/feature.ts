import type { Feature } from '../../kernel/feature.ts';
import { append } from './append.ts';
import { create } from './create.ts';
import { get } from './get.ts';
import { uploadsManifest } from './index.ts';
import { options } from './options.ts';
import { override } from './override.ts';
import { remove } from './remove.ts';
import { sweepUploads } from './uploads.jobs.ts';
import type { Uploads } from './uploads.store.ts';
import { checkTranscripts } from './uploads.gate.ts';
import { tusHeaders } from './uploads.tus.ts';

/** Files that come in pieces, by tus 1.0. */
export function uploadsFeature(uploads: Uploads): Feature {
  return {
    ...uploadsManifest,
    headers: tusHeaders,
    gate: checkTranscripts,
    operations: {
      options,
      create: create(uploads),
      get: get(uploads),
      append: append(uploads),
      remove: remove(uploads),
      override: override(uploads),
    },
    jobs: [sweepUploads],
    async start() {
      await uploads.start();
      return {};
    },
  };
}
