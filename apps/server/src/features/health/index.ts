export { checkProviders, readProviders } from './health.jobs.ts';
export { providersNow } from './health.providers.ts';
export { readinessOf } from './health.readiness.ts';
