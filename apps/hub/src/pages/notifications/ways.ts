import type { api } from '../../api/client.ts';

/** Which way alerts of a type go. */
export type Rule = Awaited<ReturnType<typeof api.notifications.getPreferences>>['rules'][number];
