import { contract } from '@svc/contract';
import { Answer, operation } from '../../kernel/feature.ts';
import { readinessOf } from './health.readiness.ts';

export const ready = operation(contract.health.ready, async ({ kernel }) => {
  const record = await readinessOf(kernel);
  return new Answer(record, { status: record.ok ? 200 : 503 });
});
