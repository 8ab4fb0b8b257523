import { contract } from '@svc/contract';
import { Answer, operation } from '../../kernel/feature.ts';
import { abilities } from './uploads.tus.ts';

export const options = operation(contract.uploads.options, (context) =>
  Promise.resolve(new Answer(undefined, { headers: abilities(context.kernel.config.uploadMaxBytes) })),
);
