import type { Manifest } from '../../kernel/feature.ts';
import { auditCommands } from './audit.commands.ts';

/** The log is the kernel's, and goes with it. */
export const auditManifest: Manifest = { name: 'audit', commands: auditCommands };
