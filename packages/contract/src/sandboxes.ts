import { z } from 'zod';
import { afterCursor, feedCursor, limit, nextCursor, numberCursor, ready, text, uuid } from './fields.ts';
import { events, json, route, socket } from './route.ts';
import { sandboxFiles } from './sandboxes.files.ts';
import {
  artifact,
  backend,
  codeResult,
  commandFields,
  defaultTemplate,
  egress,
  execFrame,
  execResult,
  forkedSandbox,
  framesOf,
  isOneCommand,
  metadata,
  oneCommand,
  onSandboxes,
  resumed,
  sandbox,
  sandboxEvent,
  sandboxStates,
  template,
  timeoutSeconds,
  ttlSeconds,
} from './sandboxes.shapes.ts';
import { terminalWindow } from './terminal.ts';

const params = z.object({ id: uuid });
const onRunning = ['sandbox_not_running', 'sandbox_busy', 'sandbox_capacity'] as const;
/** Of what runs code: it may be cut short by the end of the platform. */
const running = [...onRunning, 'command_interrupted'] as const;
const paid = ['insufficient_balance', 'sandbox_concurrency_limit', 'sandbox_capacity'] as const;

/** Isolated workspaces: their life, and the commands and cells that run in them (document 3, Sandboxes). */
export const sandboxes = {
  ...sandboxFiles,
  list: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes',
    summary:
      "The account's sandboxes: the live ones, then the others, newest first; without `status` all but the destroyed",
    query: z.object({
      status: z.enum(sandboxStates).optional(),
      // Not in the documents, as `next_cursor`.
      limit: limit(200, 200),
      cursor: z
        .string()
        .regex(/^[01]\.\d{1,18}$/, 'must be the `next_cursor` of a page')
        .optional()
        .describe('`next_cursor` of the page before'),
    }),
    answers: json(z.object({ object: z.literal('list'), data: z.array(sandbox), ...nextCursor })),
  }),
  // Not in the documents.
  stream: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/stream',
    summary: "Changes of the account's sandboxes, live",
    query: z.object(afterCursor),
    answers: events({
      ready,
      sandbox: z.object({
        op: z.enum(['created', 'updated', 'deleted']),
        sandbox: sandbox.partial().required({ id: true }).describe('Of one with over 8,000 bytes its `id` is left'),
        cursor: feedCursor,
      }),
    }),
  }),
  create: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes',
    summary: 'Create a sandbox. If `backend` is unset: v2, or v1 when v2 is unavailable',
    idempotent: true,
    metered: true,
    takes: json(
      z
        .object({
          backend: backend.optional(),
          template: template.default(defaultTemplate).describe('v1 has svc-base only'),
          ttl_seconds: ttlSeconds(60, 604_800).default(3600).describe('Lifetime; v1 at most 86,400'),
          egress: egress.default({ mode: 'none' }),
          metadata: metadata.default({}),
        })
        .meta({ id: 'NewSandbox' }),
    ),
    answers: json(sandbox),
    errors: [...paid, 'invalid_ttl'],
  }),
  get: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}',
    summary: 'One sandbox',
    params,
    answers: json(sandbox),
  }),
  // Not in the documents.
  events: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/events',
    summary: 'What became of a sandbox, newest first',
    params,
    query: z.object({ limit: limit(200, 50), cursor: numberCursor }),
    answers: json(z.object({ events: z.array(sandboxEvent), ...nextCursor })),
  }),
  update: route({
    ...onSandboxes,
    method: 'PATCH',
    path: '/v1/sandboxes/{id}',
    summary: 'Change how long a sandbox lives from now, its labels, or its way out',
    metered: true,
    params,
    takes: json(
      z
        .object({
          ttl_seconds: ttlSeconds(60, 604_800)
            .nullable()
            .optional()
            .describe(
              'Lifetime from now, shorter or longer; of a paused one from its resume; v1 at most 86,400; `null`: 3600',
            ),
          metadata: metadata.nullable().optional().describe('In place of all labels; `null`: none'),
          egress: egress.nullable().optional().describe('Of connections from now on; `null`: none'),
        })
        .meta({ id: 'SandboxChange' }),
    ),
    answers: json(sandbox),
    errors: ['invalid_ttl', 'sandbox_not_running', 'sandbox_capacity'],
  }),
  remove: route({
    ...onSandboxes,
    method: 'DELETE',
    path: '/v1/sandboxes/{id}',
    summary: 'Destroy a sandbox with its workspace; a repeat answers the same',
    idempotent: true,
    params,
    answers: json(sandbox),
  }),
  // Not in the documents.
  terminal: route({
    ...onSandboxes,
    method: 'GET',
    path: '/v1/sandboxes/{id}/terminal',
    summary: 'A login shell in it, over a WebSocket',
    scopes: ['sandboxes'],
    metered: true,
    params,
    query: z.object(terminalWindow),
    answers: socket(),
    errors: [...onRunning, 'insufficient_balance', 'sandbox_daily_limit'],
  }),
  exec: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/exec',
    summary: 'Run a command; with `Accept: text/event-stream` its output as it comes',
    idempotent: true,
    metered: true,
    params,
    takes: json(z.object(commandFields).refine(isOneCommand, oneCommand).meta({ id: 'Command' })),
    answers: json(execResult).orFrames(execFrame, framesOf),
    errors: [...running, 'insufficient_balance', 'sandbox_daily_limit', 'workspace_too_large'],
  }),
  run: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/run',
    summary: 'One shot: create, run, collect /workspace/out, destroy',
    idempotent: true,
    metered: true,
    takes: json(
      z
        .object({
          ...commandFields,
          backend: backend.optional(),
          template: template.default(defaultTemplate),
          egress: egress.default({ mode: 'none' }),
          metadata: metadata.default({}),
        })
        .refine(isOneCommand, oneCommand)
        .meta({ id: 'OneShot' }),
    ),
    answers: json(execResult.extend({ artifacts: z.array(artifact) }).meta({ id: 'RunResult' })),
    errors: [
      ...paid,
      'sandbox_not_running',
      'sandbox_daily_limit',
      'workspace_too_large',
      'quota_exceeded',
      'command_interrupted',
    ],
  }),
  runCode: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/run_code',
    summary: 'Run a cell in the Python kernel, whose globals live on',
    idempotent: true,
    metered: true,
    params,
    takes: json(z.object({ code: text(1_048_576), timeout_seconds: timeoutSeconds })),
    answers: json(codeResult),
    errors: [...running, 'insufficient_balance', 'sandbox_daily_limit', 'workspace_too_large'],
  }),
  resetKernel: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/kernel/reset',
    summary: 'Restart the Python kernel, also while a cell runs; files stay',
    idempotent: true,
    params,
    answers: json(z.object({ id: uuid, reset: z.literal(true) })),
    errors: [...onRunning],
  }),
  pause: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/pause',
    summary: 'Keep memory, processes and workspace in a snapshot, and stop; v2',
    idempotent: true,
    params,
    takes: json(
      z.object({
        files_only: z
          .boolean()
          .default(false)
          .describe('Give memory and processes up; else what cannot be saved is 409 `memory_not_saved`, and goes on'),
      }),
    ),
    answers: json(sandbox),
    errors: [...onRunning, 'memory_not_saved', 'not_supported_on_v1', 'sandbox_paused_limit'],
  }),
  resume: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/resume',
    summary: 'Go on where a pause left off; `restored: false` is a cold start with the files intact',
    idempotent: true,
    metered: true,
    params,
    answers: json(sandbox.extend(resumed.shape).meta({ id: 'ResumedSandbox' })),
    errors: [...paid, 'not_supported_on_v1', 'sandbox_not_running'],
  }),
  fork: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/fork',
    summary: 'Make copies with memory, processes and workspace; the parent goes on; v2',
    idempotent: true,
    metered: true,
    params,
    takes: json(
      z.object({
        count: z.int().meta({ minimum: 1, maximum: 5 }),
        ttl_seconds: ttlSeconds(60, 604_800).optional().describe("Default: what is left of the parent's"),
      }),
    ),
    answers: json(
      z.object({
        object: z.literal('list'),
        parent_id: uuid,
        data: z.array(forkedSandbox),
      }),
    ),
    errors: [...paid, ...onRunning, 'not_supported_on_v1', 'invalid_count', 'invalid_ttl'],
  }),
};
