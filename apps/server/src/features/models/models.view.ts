import type { Inference } from '../inference/index.ts';

/** The names that a key may ask for, as clients of OpenAI and of Anthropic read them. */
export function modelsFor(inference: Inference, { models }: { models: readonly string[] | undefined }) {
  const { changedAt } = inference.lanes;
  const names = inference.lanes.names().filter((name) => models?.includes(name) ?? true);
  return names.map((id) => ({
    id,
    object: 'model' as const,
    type: 'model' as const,
    display_name: id,
    created: Math.floor(changedAt / 1000),
    created_at: new Date(changedAt).toISOString(),
    owned_by: 'svc',
  }));
}
