export { checkClouds, checkCloudsFile } from './clouds.check.ts';
