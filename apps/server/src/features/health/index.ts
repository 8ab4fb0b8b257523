export { parseProviders } from './health.rules.ts';
export { instanceHeader } from './live.ts';
export { readinessOf } from './health.readiness.ts';
