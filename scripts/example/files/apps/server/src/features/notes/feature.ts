import type { Feature, JobDefinition } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { create } from './create.ts';
import { finish } from './finish.ts';
import { notesManifest } from './index.ts';
import { list } from './list.ts';
import { createNoteStreams } from './notes.broadcast.ts';
import { sweepDone } from './notes.sql.ts';
import { remove } from './remove.ts';
import { stream } from './stream.ts';

const sweep: JobDefinition = {
  name: 'notes.sweep',
  cron: '17 3 * * *',
  run: ({ sql, clock }) => sweepDone(sql, clock),
};

/** Lines that a person keeps. */
export function notesFeature(kernel: Kernel): Feature {
  const streams = createNoteStreams(kernel);
  return {
    ...notesManifest,
    operations: { create: create(streams), list, finish, remove, stream: stream(streams) },
    jobs: [sweep],
    async start() {
      await streams.start(({ accountId, note }) => streams.send(accountId, 'note', note));
      return {};
    },
  };
}
