import type { Manifest } from '../../kernel/feature.ts';
import { prompts } from './prompts.moves.ts';
import { launches } from './prompts.launches.moves.ts';
import { promptsRestored } from './prompts.restored.ts';
import { promptsQuota, promptBytesQuota } from './prompts.sql.ts';
export { Prompts } from './prompts.store.ts';
export { toPrompt } from './prompts.view.ts';

/** The feature without a running platform. */
export const promptsManifest: Manifest = {
  name: 'prompts',
  data: {
    tables: ['prompts.runs', 'prompts.prompts'],
  },
  machines: [prompts, launches],
  quotas: [promptsQuota, promptBytesQuota],
  restored: promptsRestored,
};
