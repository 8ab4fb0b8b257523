import { contract } from '@svc/contract';
import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import { create } from './create.ts';
import { finish } from './finish.ts';
import { notesManifest } from './index.ts';
import { list } from './list.ts';
import { sweepDone } from './notes.sql.ts';
import { remove } from './remove.ts';
import { stream } from './stream.ts';

const sweep: JobDefinition = {
  name: 'notes.sweep',
  cron: '17 3 * * *',
  run: ({ sql, clock }) => sweepDone(sql, clock),
};

/** Lines that a person keeps. */
export const notesFeature: Feature = {
  ...notesManifest,
  operations: { create, list, finish, remove, stream },
  topic: contract.notes.list,
  jobs: [sweep],
};
