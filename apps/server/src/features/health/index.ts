export { parseProviders } from './health.rules.ts';
