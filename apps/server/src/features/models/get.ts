import { contract } from '@svc/contract';
import { operation, type Operation } from '../../kernel/feature.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Inference } from '../inference/index.ts';
import { modelsFor } from './models.view.ts';

/** One of the names that the key may ask for. */
export const get = (inference: Inference): Operation =>
  operation(contract.models.get, ({ actor }, { params }) => {
    const model = modelsFor(inference, actor).find(({ id }) => id === params.name);
    if (!model) throw notFound('model here; GET /v1/models lists what there is');
    return Promise.resolve(model);
  });
