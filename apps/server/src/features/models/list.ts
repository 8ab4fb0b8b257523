import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { modelsFor } from './models.view.ts';

/** The names that the key may ask for. */
export const list = (inference: Inference): Operation =>
  operation(contract.models.list, ({ actor }) => {
    const data = modelsFor(inference, actor);
    const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id];
    return Promise.resolve({ object: 'list' as const, data, has_more: false as const, first_id, last_id });
  });
