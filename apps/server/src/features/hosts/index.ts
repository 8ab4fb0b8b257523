import type { AccountData } from '../../kernel/deletion.ts';

/** What it keeps of an account. */
export const hostsData: AccountData = { name: 'hosts', tables: ['hosts.presence', 'hosts.calls'] };
