import type { AccountData } from '../../kernel/deletion.ts';

/** What it keeps of an account. */
export const heartbeatsData: AccountData = {
  name: 'heartbeats',
  tables: ['heartbeats.monitors', 'heartbeats.ping_keys', 'heartbeats.badges'],
};
