import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { readyMade } from './schedules.templates.ts';

export const templates = operation(contract.schedules.templates, () => {
  const listed = readyMade.map(({ id, name, description, params, build }) => ({
    id,
    name,
    description,
    params,
    schedule: { ...build(Object.fromEntries(params.map((param) => [param.name, param.default ?? `<${param.name}>`]))) },
  }));
  return Promise.resolve({ templates: listed });
});
