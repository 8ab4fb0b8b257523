export { parseProviders } from './health.rules.ts';
export { instanceHeader } from './live.ts';
