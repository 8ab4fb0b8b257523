export { checkSources } from './sources/sources.ts';
