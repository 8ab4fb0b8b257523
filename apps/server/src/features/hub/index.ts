export { checkBuild } from './hub.build.ts';
