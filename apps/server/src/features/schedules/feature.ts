import { contract } from '@svc/contract';
import { schedulesManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import { approveCommand } from './approveCommand.ts';
import { create, type Parts } from './create.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { pause } from './pause.ts';
import { preview } from './preview.ts';
import { remove } from './remove.ts';
import { resume } from './resume.ts';
import { revokeCommand } from './revokeCommand.ts';
import { run } from './run.ts';
import { runs } from './runs.ts';
import { sealClear, sealClearHeaders } from './schedules.jobs.ts';
import { stream } from './stream.ts';
import { templates } from './templates.ts';
import { upcoming } from './upcoming.ts';
import { update } from './update.ts';
import { useTemplate } from './useTemplate.ts';
import { schedulesOverview } from './schedules.summary.ts';
/** Schedules: what is to run, when and where. */
export function schedulesFeature(parts: Parts): Feature {
  const { scheduler } = parts;
  return {
    ...schedulesManifest,
    jobs: [sealClearHeaders],
    overview: schedulesOverview,
    topic: contract.schedules.list,
    async start(kernel, { works }) {
      const ending = new AbortController();
      // Where another gateway runs it may be of an earlier version, which cannot open them: by night then.
      const isSealing = works && !kernel.gateways.hasPeers() ? sealClear(kernel, ending.signal) : Promise.resolve();
      const sealing = isSealing.catch((err: unknown) => kernel.log.warn({ err }, 'headers are sealed by night'));
      return {
        async stop() {
          ending.abort();
          await sealing;
        },
      };
    },
    operations: {
      list,
      upcoming,
      create: create(parts),
      get,
      update: update(parts),
      remove: remove(scheduler),
      run: run(parts),
      runs: runs(scheduler),
      approveCommand: approveCommand(scheduler),
      revokeCommand: revokeCommand(scheduler),
      preview,
      pause: pause(scheduler),
      resume: resume(scheduler),
      templates,
      useTemplate: useTemplate(parts),
      stream,
    },
  };
}
