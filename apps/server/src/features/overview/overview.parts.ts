import type { Actor } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Feature, OverviewPart } from '../../kernel/feature.ts';
import { checkCaller } from '../../kernel/mount/access.ts';

/** A feature's part with its name. */
export interface NamedPart extends OverviewPart {
  readonly name: string;
}

/** The parts that the caller may read. */
export function partsOf(features: readonly Feature[], actor: Actor): NamedPart[] {
  return features.flatMap((feature) =>
    feature.overview && mayRead(feature, feature.overview, actor) ? [{ ...feature.overview, name: feature.name }] : [],
  );
}

function mayRead(feature: Feature, { rights }: OverviewPart, actor: Actor): boolean {
  try {
    checkCaller(feature, rights, actor);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
