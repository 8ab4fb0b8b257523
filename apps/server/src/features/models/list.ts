import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';

/** The names that the key may ask for. */
export const list = (inference: Inference): Operation =>
  operation(contract.models.list, ({ actor }) => {
    const names = inference.lanes.names().filter((name) => actor.models?.includes(name) ?? true);
    const data = names.map((id) => ({
      id,
      object: 'model' as const,
      type: 'model' as const,
      display_name: id,
      created: 0,
      created_at: new Date(0).toISOString(),
      owned_by: 'svc',
    }));
    const [first_id = null, last_id = null] = [names[0], names.at(-1)];
    return Promise.resolve({ object: 'list' as const, data, has_more: false as const, first_id, last_id });
  });
