import type { preferenceRule } from '@svc/contract';
import { quietUntil } from '@svc/timetable';
import type { z } from 'zod';
import type { NewNotification, Severity } from '../notifications.rules.ts';
import { testType, type Ways } from '../notifications.sql.ts';

/** Which way notifications of a type go (design: hub). */
export type PreferenceRule = z.output<typeof preferenceRule>;

const ranks: Readonly<Record<Severity, number>> = { info: 0, warning: 1, critical: 2 };

/** Somebody got into the account, or may have: mail goes whatever its rules say, so that the other one cannot stop it. */
const guarded = /^(?:login|passkey|password|connection)\./;

const everyWay: Ways = { push: true, mail: true, webhook: true, quietUntil: null };

/**
 * Which ways a notification goes. The first rule that names its type decides; below that rule's severity it stays in the inbox.
 * Quiet hours hold pushes and mail until they end; webhooks lead to programs, and wait for nothing. Without a rule: every way.
 */
export function waysOf(
  rules: readonly PreferenceRule[],
  { type, severity }: Pick<NewNotification, 'type' | 'severity'>,
  now: number,
): Ways {
  if (type === testType) return everyWay;
  const rule = rules.find(({ type: wanted }) => wanted === '*' || type === wanted || type.startsWith(`${wanted}.`));
  if (!rule) return everyWay;
  const isWanted = rule.min_severity === undefined || ranks[severity] >= ranks[rule.min_severity];
  const has = (channel: PreferenceRule['channels'][number]): boolean => isWanted && rule.channels.includes(channel);
  const ways = { push: has('push'), webhook: has('webhook'), mail: has('mail') };
  if (guarded.test(type)) return { ...ways, mail: true, quietUntil: null };
  const quiet = rule.quiet_hours;
  const until = quiet && quietUntil({ start: quiet.from, end: quiet.to, tz: quiet.tz }, now, quiet.tz);
  return { ...ways, quietUntil: until === undefined ? null : new Date(until).toISOString() };
}
