import { contract } from '@svc/contract';
import { promptsManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Inference } from '../inference/index.ts';
import type { KeyLookup } from '../keys/index.ts';
import type { Sessions } from '../sessions/index.ts';
import { create } from './create.ts';
import { get } from './get.ts';
import { launch } from './launch.ts';
import { list } from './list.ts';
import { match } from './match.ts';
import { armedTopic, type Prompts } from './prompts.store.ts';
import { PromptTicker } from './prompts.ticker.ts';
import { remove } from './remove.ts';
import { stream } from './stream.ts';
import { update } from './update.ts';
import { verify } from './verify.ts';
import { verifyAll } from './verifyAll.ts';
import { promptsOverview } from './prompts.summary.ts';

/** Prompts for a later chat. */
export function promptsFeature(
  kernel: Kernel,
  prompts: Prompts,
  { sessions, inference, lookup }: { sessions: Sessions; inference: Inference; lookup: KeyLookup },
): Feature {
  // Its transactions ask for keys on the other pool: on their own they would wait for a connection that they hold.
  const ticker = new PromptTicker({ ...kernel, sql: kernel.background }, prompts, lookup);
  const parts = { prompts, sessions, inference };
  return {
    ...promptsManifest,
    operations: {
      list,
      create: create(prompts),
      stream,
      verifyAll: verifyAll(parts),
      get: get(prompts),
      update: update(prompts),
      remove: remove(prompts),
      launch: launch(prompts),
      match: match(prompts),
      verify: verify(parts),
    },
    overview: promptsOverview,
    topic: contract.prompts.list,
    async start(_kernel, { works }) {
      await kernel.bus.subscribe(armedTopic, () => ticker.wake());
      if (works) ticker.start();
      return {
        async stop() {
          await ticker.stop();
          await prompts.stop();
        },
      };
    },
  };
}
