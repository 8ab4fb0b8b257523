export { auditCommands } from './audit.commands.ts';
