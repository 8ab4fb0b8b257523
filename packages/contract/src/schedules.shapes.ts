import { z } from 'zod';
import { clockTime, instant, text, uuid, withoutUser } from './fields.ts';

/** A span in seconds, up to a day. */
export const seconds = (min: number) => z.int().min(min).max(86_400);
/** A label of a machine. */
export const tag = text(60).min(1);
const tz = text(64).min(1).describe('IANA time zone');
const microUsd = z.int().nonnegative();
const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable');

/** When a schedule is due (document 2, Trigger shapes). */
export const trigger = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('cron'),
      expr: text(200).min(1).describe('5 fields, or 6 with seconds first; vixie-cron day semantics'),
      tz: tz.optional().describe('default Europe/Bucharest'),
    }),
    z.object({ type: z.literal('at'), at: instant }),
    z.object({ type: z.literal('interval'), every_s: z.int().min(1).max(31_536_000) }),
    z.object({ type: z.literal('event'), trigger_id: text(120).min(1) }),
    z.object({
      type: z.literal('after'),
      schedule_id: uuid,
      on: z.enum(['success', 'failure', 'always']).default('success'),
    }),
  ])
  .meta({ id: 'Trigger' });

/** Where a run goes (document 2, Target shapes). */
export const target = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('host'), device_id: uuid }),
    z.object({ type: z.literal('tags'), tags: z.array(tag).min(1).max(20) }),
    z.object({ type: z.literal('any') }),
    z.object({ type: z.literal('cloud') }),
    z.object({ type: z.literal('cloud_vm'), project_id: uuid }),
  ])
  .meta({ id: 'Target' });

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
/** `mon` … `sun`, or 1..7 from Monday. */
const weekday = z.union([z.enum(weekdays), z.int().min(1).max(7)]);
const quietHours = z
  .object({
    start: clockTime,
    end: clockTime,
    days: z.array(z.int().min(1).max(7)).max(7).optional(),
    tz: tz.optional(),
  })
  .describe('A daily span of local time; may wrap midnight');

/** Conditions under which a due schedule becomes a run (document 2, Policy keys). */
export const policy = z
  .object({
    approval: z.enum(['never', 'always', 'outside_hours']).optional(),
    quiet_hours: quietHours.optional(),
    max_runs_per_hour: z.int().min(1).max(3_600).optional(),
    budget_micro_usd_per_run: microUsd.optional(),
    budget_micro_usd_per_day: microUsd.optional(),
    skip_days: z
      .object({
        holidays: z.literal('RO').optional(),
        weekdays: z.array(weekday).max(7).optional(),
        dates: z
          .array(
            z.string().regex(/^(?:\d{4}-)?(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, 'must be YYYY-MM-DD or MM-DD'),
          )
          .max(400)
          .optional(),
      })
      .optional(),
    pause_after_failures: z.int().min(0).max(1_000).optional().describe('default 3; 0: never'),
  })
  .refine((value) => value.approval !== 'outside_hours' || value.quiet_hours !== undefined, {
    path: ['quiet_hours'],
    error: 'approval outside_hours needs quiet_hours',
  });

/** What of an output is no change; the server reads the patterns (`@svc/matching/ignored`). */
export const ignored = z
  .array(text(200).min(1))
  .max(20)
  .describe(
    'Of `notify: on_change`: what of a line is no change, wherever in it. `*` is any text, `#` a whole number (`12`, `1,024.5`), a ' +
      'sign after `\\` itself, all else as it is written, in its case. A line that is ignored as a whole may also come and go',
  );

const permission = z.enum(['read', 'edit', 'pr']);
const deviceText = text(2_000);

/** Spec of an agent run. */
export const agentSpec = z.object({
  prompt: text(100_000).min(1),
  skill: text(200).optional(),
  permissions: z.union([permission, z.array(permission).max(3)]).optional(),
});
/** Spec of a shell run; only names of environment variables are stored, never values. */
export const shellSpec = z.object({
  command: text(65_536).min(1),
  cwd: text(4_096).optional(),
  env_names: z.array(envName).max(100).optional(),
  shell: text(256).min(1).optional(),
});
/** Request of an http run. */
export const httpSpec = z.object({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  url: withoutUser(text(4_096).pipe(z.url({ protocol: /^https$/, error: 'must be an https URL' }))),
  headers: z
    .record(
      z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, 'must be a header name'),
      z
        .string()
        .max(8_192)
        .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be a header value'),
    )
    .optional()
    .describe('Only written: answers show names, and `***` for each value, which keeps the stored one in a change'),
  body: text(1_048_576).optional(),
  expect_status: z.int().min(100).max(599).optional().describe('default: any 2xx'),
});
/** Other schedules, in order. */
export const chainSpec = z.object({
  steps: z
    .array(z.object({ schedule_id: uuid, on: z.enum(['success', 'always']).default('success') }))
    .min(1)
    .max(20),
  stop_on_failure: z.boolean().default(true),
});
/** Action of one phone. */
const phoneSpec = z.discriminatedUnion('action', [
  z.object({ action: z.literal('notify'), params: z.object({ title: text(200).min(1), body: deviceText.optional() }) }),
  z.object({ action: z.literal('start_agent'), params: z.object({ prompt: text(100_000).min(1) }) }),
  z.object({
    action: z.literal('open_app'),
    params: z
      .object({ app_id: text(256).min(1).optional(), url: deviceText.min(1).optional() })
      .refine((value) => (value.app_id === undefined) !== (value.url === undefined), 'give app_id or url'),
  }),
  z.object({ action: z.literal('wifi'), params: z.object({ on: z.boolean() }) }),
  z.object({ action: z.literal('dnd'), params: z.object({ on: z.boolean(), until: instant.optional() }) }),
]);

/** Kinds of work and the shape of their `spec`. */
export const specs = {
  agent: agentSpec,
  shell: shellSpec,
  http: httpSpec,
  chain: chainSpec,
  phone_action: phoneSpec,
} as const;
export const kinds = ['agent', 'shell', 'http', 'chain', 'phone_action'] as const;

/**
 * Input of `command_hash`, a SHA-256, as UTF-8: shell, cwd, command and the sorted env names, each with its length in
 * UTF-16 units before it, so that no two commands give one text. Absent is empty.
 */
export function commandHashInput(spec: z.output<typeof shellSpec>): string {
  const parts = [spec.shell ?? '', spec.cwd ?? '', spec.command, ...[...(spec.env_names ?? [])].sort()];
  return parts.map((part) => `${part.length}:${part}`).join('');
}
