import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { afterCursor, dateTime, feedCursor, limit, nextCursor, ready, resettable, text, uuid } from './fields.ts';
import { events, json, route } from './route.ts';

/** States of a prompt (document 1, States and transitions). */
export const promptStates = [
  'open',
  'launched',
  'sent',
  'answered',
  'verified',
  'done',
  'dismissed',
  'superseded',
] as const;

/** A model's report on the work that a prompt asked for. */
export const promptReport = z
  .object({
    verdict: z.enum(['done', 'partial', 'not_started']),
    summary: z.string(),
    changed: z.string().describe('What was done'),
    remaining: z.string().describe('What is left; empty when nothing is'),
  })
  .meta({ id: 'PromptReport' });

/** Outcome of a turn, in the `data` of its `turn_end` (additive). */
export const turnOutcome = z
  .object({
    ok: z.boolean(),
    exit_code: z.int().optional(),
    error: z.string().optional().describe('Why it failed, or why a device did not run it'),
  })
  .meta({ id: 'PromptTurn' });

/** A prompt for a later chat (document 1, Pending prompt). */
export const prompt = z
  .object({
    id: uuid,
    prompt: z.string(),
    text_hash: z.string().describe('SHA-256 of the text whose runs of white space are one space'),
    source: z.string(),
    goal_key: z.string().optional(),
    not_before: dateTime.optional().describe('Absent: due at once'),
    auto_run: z.boolean(),
    target_device_id: uuid.optional(),
    status: z.enum(promptStates),
    match_ref: z.string().optional().describe('Session whose turn matched'),
    match_turn_id: z.string().optional(),
    run_session_id: uuid.optional().describe('Session that the launch opened'),
    waiting_for: z
      .string()
      .optional()
      .describe('What a launch waits for: `no device with an agent`, or the device that has not begun'),
    last_turn: turnOutcome.optional().describe('What the last turn came to, where its device says so'),
    report: promptReport.optional(),
    created_at: dateTime,
    updated_at: dateTime,
    launched_at: dateTime.optional(),
    sent_at: dateTime.optional(),
    answered_at: dateTime.optional(),
    verified_at: dateTime.optional(),
    superseded_by: uuid.optional(),
  })
  .meta({ id: 'Prompt' });

const [first, last] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];
/** Of the years 1 to 9999 in UTC: others have no RFC 3339 form and no place in the database. */
const isInstant = (at: Date): boolean => at.getTime() >= first && at.getTime() <= last;
const isDate = (value: string): boolean => {
  const at = new Date(`${value}T07:00:00Z`);
  return isInstant(at) && at.toISOString().startsWith(value);
};
const dateOrInstant =
  /^(\d{4}-\d\d-\d\d)(?:[Tt]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)([Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?$/;
/** An instant, or a date that means 07:00 UTC of that day. */
const notBefore = z
  .string()
  .regex(dateOrInstant, 'must be a date such as 2026-11-03, or an instant with its offset such as 2026-11-03T07:00:00Z')
  .refine((value) => isDate(value.slice(0, 10)), { message: 'must be a day of the calendar', abort: true })
  .transform((value) => {
    const [, day, time = '07:00', offset = 'Z'] = dateOrInstant.exec(value) ?? [];
    return new Date(`${day}T${time}${offset.toUpperCase().replace(/^(...)(\d\d)$/, '$1:$2')}`);
  })
  .refine(isInstant, 'must be an instant of the years 1 to 9999')
  .transform((at) => at.toISOString())
  .describe('`YYYY-MM-DD`, which means 07:00 UTC of that day, or an ISO 8601 instant with its offset');

const file = z.object({ path: text(1_000).min(1), content: text(200_000) });
/** Evidence for a verdict, besides the transcript of the session. */
const evidence = {
  diff: text(1_000_000).optional().describe('Such as the diff of a repository'),
  files: z.array(file).max(50).optional(),
};

/** Codes of prompts' own (design: prompts). */
export const promptErrors = {
  prompt_closed: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

const stop = z.boolean().describe('`true`: what runs of it is asked to end; else it goes on');
const byId = z.object({ id: uuid });
const one = json(z.object({ prompt }));
const kept = z.object({ created: z.boolean(), id: uuid, prompt });

/** Prompts for a later chat (document 1, Pending prompts; design: prompts). */
export const prompts = {
  list: route({
    method: 'GET',
    path: '/v1/prompts',
    summary: "The account's prompts, newest first",
    auth: 'key',
    query: z.object({
      status: z
        .enum([...promptStates, 'active', 'due', 'all'])
        .default('open')
        .describe('`active`: open, launched, sent, answered; `due`: open ones whose `not_before` is empty or passed'),
      limit: limit(200, 50),
      cursor: text(200).min(1).optional(),
    }),
    answers: json(z.object({ prompts: z.array(prompt), ...nextCursor })),
  }),
  create: route({
    method: 'POST',
    path: '/v1/prompts',
    summary: 'Keep a prompt for later; one that is kept already answers 200 with `created: false`',
    auth: 'key',
    idempotent: true,
    takes: json(
      z.object({
        prompt: text(100_000).refine((value) => value.trim() !== '', 'must not be blank'),
        source: text(64)
          .min(1)
          .default('agent')
          .describe('`agent`, `transcript`, `hook`, `tool`, `phone`, `hub`, or another'),
        goal_key: text(200).min(1).optional().describe('A newer prompt with the key supersedes the open ones'),
        not_before: notBefore.optional(),
        auto_run: z.boolean().default(false).describe('Launch it when it is due'),
        target_device_id: uuid.optional().describe('Default: the freshest desktop or Android device'),
      }),
    ),
    answers: json(kept, 201).or(200, kept),
  }),
  stream: route({
    method: 'GET',
    path: '/v1/prompts/stream',
    summary: "Changes of the account's prompts",
    auth: 'key',
    query: z.object(afterCursor),
    answers: events({
      ready,
      prompt: z.object({
        op: z.enum(['create', 'update', 'delete']),
        prompt: prompt
          .partial()
          .required({ id: true })
          .describe('Of a deleted one, and of one with over 8,000 bytes, its `id` is left'),
        cursor: feedCursor,
      }),
    }),
  }),
  verifyAll: route({
    method: 'POST',
    path: '/v1/prompts/verify',
    summary: 'Judge every active prompt that has a session, or those in `ids`',
    auth: 'key',
    idempotent: true,
    metered: true,
    takes: json(
      z
        .object({
          ids: z.array(uuid).min(1).max(50).optional(),
          cursor: text(200).min(1).optional().describe('`next_cursor` of the call before'),
        })
        .refine(({ ids, cursor }) => ids === undefined || cursor === undefined, 'ids and cursor exclude each other'),
    ),
    answers: json(
      z.object({
        results: z.array(
          z.object({
            id: uuid,
            ok: z.boolean(),
            prompt: prompt.optional(),
            error: z.object({ code: z.string(), message: z.string() }).optional(),
          }),
        ),
        next_cursor: z.string().optional().describe('There are more that are active; absent in the last answer'),
      }),
    ),
  }),
  get: route({
    method: 'GET',
    path: '/v1/prompts/{id}',
    summary: 'One prompt',
    auth: 'key',
    params: byId,
    answers: one,
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/prompts/{id}',
    summary: 'Snooze a prompt, mark it done or dismissed, or change how it will be launched',
    auth: 'key',
    params: byId,
    takes: json(
      z
        .object({
          not_before: resettable(notBefore),
          status: z.enum(['open', 'done', 'dismissed']).optional(),
          auto_run: resettable(z.boolean()),
          target_device_id: resettable(uuid),
          stop: stop.optional(),
        })
        .refine((body) => Object.entries(body).some(([name, value]) => name !== 'stop' && value !== undefined), {
          message: 'at least one field is required besides stop',
        }),
    ),
    answers: one,
    errors: ['prompt_closed'],
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/prompts/{id}',
    summary: 'Delete a prompt; its text may be kept anew',
    auth: 'key',
    params: byId,
    query: z.object({
      stop: z
        .enum(['true', 'false'])
        .default('false')
        .describe('`true`: what runs of it is asked to end; else it goes on'),
    }),
    answers: json(z.object({ deleted: z.literal(true), id: uuid })),
  }),
  launch: route({
    method: 'POST',
    path: '/v1/prompts/{id}/launch',
    summary: 'Open a session for a prompt and send it to a device',
    auth: 'key',
    idempotent: true,
    params: byId,
    takes: json(
      z.object({
        target_device_id: uuid.optional(),
        force: z
          .boolean()
          .optional()
          .describe('`true`: launch it anew though a launch waits or runs; what no device began is taken back'),
        stop: stop.optional(),
      }),
    ),
    answers: one,
    errors: ['prompt_closed'],
  }),
  match: route({
    method: 'POST',
    path: '/v1/prompts/{id}/match',
    summary: 'Say that a turn carries this prompt, where the platform could not see it',
    auth: 'key',
    notIdempotent: 'it sets a state: a repeat finds it so',
    params: byId,
    takes: json(z.object({ match_ref: text(200).min(1), match_turn_id: text(128).min(1) })),
    answers: one,
    errors: ['prompt_closed'],
  }),
  verify: route({
    method: 'POST',
    path: '/v1/prompts/{id}/verify',
    summary: 'Let a model judge by transcript, diff and files whether the work is done',
    auth: 'key',
    idempotent: true,
    metered: true,
    params: byId,
    takes: json(z.object(evidence)),
    answers: one,
    errors: ['upstream_error'],
  }),
};
