import type { Feature } from '../../kernel/feature.ts';
import { create } from './create.ts';
import { type EnvironmentsOf, get } from './get.ts';
import { projectsManifest } from './index.ts';
import { list } from './list.ts';
import { remove } from './remove.ts';
import { update } from './update.ts';

/** Projects: what groups environments. `environmentsOf` is of the feature that has these. */
export function projectsFeature(environmentsOf: EnvironmentsOf): Feature {
  return {
    ...projectsManifest,
    operations: { list, create, get: get(environmentsOf), update, remove },
  };
}
