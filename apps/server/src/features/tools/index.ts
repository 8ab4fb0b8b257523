export { checkSources } from './tools.sources.ts';
