import { api } from '../../api/client.ts';
import type { Tone } from '../../ui/Status.tsx';
import type { Words } from '../../words/words.tsx';

/** An environment with what stands in it. */
export type Whole = Awaited<ReturnType<typeof api.environments.get>>;
export type EnvironmentRecord = Whole['environment'];
export type ProjectRecord = Awaited<ReturnType<typeof api.projects.list>>['projects'][number];
export type Role = Whole['role'];
export type Member = Whole['members'][number];
export type Invitation = Awaited<ReturnType<typeof api.environments.listInvitations>>['invitations'][number];
export type Port = Whole['ports'][number];

/** Weakest first. */
export const roles = ['viewer', 'developer', 'maintainer', 'owner'] as const satisfies readonly Role[];
export const isAtLeast = (role: Role, least: Role): boolean => roles.indexOf(role) >= roles.indexOf(least);

/** How a state looks. */
export const stateTone: Record<EnvironmentRecord['state'], Tone> = {
  pending: 'warn',
  creating: 'busy',
  enrolling: 'busy',
  running: 'good',
  stopping: 'busy',
  stopped: 'rest',
  starting: 'busy',
  archived: 'rest',
  failed: 'bad',
  destroying: 'busy',
  destroyed: 'rest',
};

/** What a write makes old. */
export const stale = ['environments', 'projects', 'overview'];

/** Why it is in its state, in our words where they are known; a provider's own stay as they are. */
export function reasonOf({ stateReason: reason }: EnvironmentRecord, words: Words): string | undefined {
  if (reason === null) return undefined;
  const known: Record<string, string> = words.environments.reasons;
  return known[reason] ?? reason;
}

/** The fields of a form that are filled in, without blanks at their ends. */
export const filled = <T extends Record<string, string>>(fields: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value.trim() === '' ? [] : [[name, value.trim()]])),
  ) as Partial<T>;
