export { orgsCommands } from './orgs.commands.ts';
