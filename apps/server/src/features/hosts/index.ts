import type { AccountData } from '../../kernel/deletion.ts';

export { hostProgram } from './hosts.program.ts';

/** What it keeps of an account. */
export const hostsData: AccountData = { name: 'hosts', tables: ['hosts.presence', 'hosts.calls', 'hosts.invites'] };
