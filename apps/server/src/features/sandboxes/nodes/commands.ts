import { createHash, randomUUID } from 'node:crypto';
import type { contract, execResult, RouteParsed } from '@svc/contract';
import { type ExecEvent, type NodeClient, NodeFailure, type OutputFile } from '@svc/sandboxd-api';
import type { z } from 'zod';
import type { Fragment } from '../../../kernel/db/db.ts';
import type { Context } from '../../../kernel/http/context.ts';
import { ApiError, notFound } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import {
  beginningSpan,
  checkDaily,
  checkPaid,
  endingSpan,
  insertSpan,
  mayRun,
  removingSpan,
} from '../../metering/index.ts';
import { type WrittenInput, writeInputs } from '../sandboxes.inputs.ts';
import { busy, interrupted, notRunning, toApiFailure } from './failures.ts';
import type { Nodes } from './nodes.ts';
import { auditing, findSandbox, freeSandbox, holdSandbox, type SandboxRow, takeSandbox } from '../sandboxes.sql.ts';

/** On whose behalf a command runs: a request, or a run of the scheduler. */
export type Caller = Pick<Context, 'kernel' | 'actor' | 'by' | 'signal' | 'frames'>;
export type Command = RouteParsed<typeof contract.sandboxes.exec>['body'];
type Result = z.input<typeof execResult>;

/** A command holds its sandbox this long at a time, so that one whose gateway died is soon free. */
const holdMs = 30_000;
const renewEveryMs = 10_000;

/** The result of `work`, and how long the node was busy with it. */
interface Done<T> {
  value: T;
  execMs: number;
  /** Whether it left the workspace otherwise than it was. */
  changed: boolean;
  /** For the audit log. */
  detail: object;
}

/** The parts that work gets while it runs. */
interface During {
  /** To be called once it runs: from then on it counts, however it ends. */
  began: () => void;
  /** Aborts when the caller goes away, and when this gateway stops. */
  signal: AbortSignal;
}

/** A piece of work in a sandbox. */
interface Work<P, T> {
  action: 'exec' | 'run_code';
  /** For the audit log, where it stands before anything runs. */
  asked: object;
  /** Puts its inputs into the workspace first; that time is not the command's. */
  prepare?: (node: NodeClient) => Promise<P>;
  run: (node: NodeClient, prepared: P | undefined, during: During) => Promise<Done<T>>;
}

/**
 * Does `work` in a sandbox that nothing else runs in: checks balance and daily limit, holds the sandbox, meters the
 * time, counts the change, and writes the audit lines. Work that never began counts as nothing.
 */
export async function inSandbox<P, T>(
  caller: Caller,
  nodes: Nodes,
  id: string,
  work: Work<P, T>,
): Promise<{ value: T; before: number; after: number; row: SandboxRow }> {
  const { kernel, actor, by } = caller;
  const { sql, clock } = kernel;
  const { accountId } = actor;
  const holder = randomUUID();
  const span = { id: randomUUID(), accountId, sandboxId: id };
  const audit = (action: string, detail: object, from?: Fragment): Fragment =>
    auditing(sql, { accountId, by, sandboxId: id, action, detail }, from);
  const row = await take(kernel, { id, accountId, holder, holdMs }, () => {
    const from = sql`from taken`;
    const asked = audit(work.action, work.asked, from);
    if (work.prepare) return asked;
    return sql`${asked}, ${beginningSpan(sql, clock, { ...span, kind: sql`'exec_' || backend` }, from)}`;
  });
  /** Frees the sandbox, ends the span and writes the last line of the audit log. */
  const free = (done: { execMs?: number | undefined; changed: boolean }, ended: Fragment, detail: object) =>
    freeSandbox(sql, clock, id, holder, done, sql`${ended}, ${audit(`${work.action}_end`, detail)}`);
  const stopHolding = clock.every(renewEveryMs, () => {
    holdSandbox(sql, clock, id, holder, holdMs).catch((err: unknown) =>
      kernel.log.warn({ err }, 'a sandbox is not held'),
    );
  });
  // Commands of the platform itself are not stopped here: the feature that asked for them hands them on.
  const own = caller.by.kind === 'system' ? undefined : nodes.commands.begin();
  const signal = own ? AbortSignal.any([caller.signal, own.stopping]) : caller.signal;
  let beganAt: number | undefined;
  const began = (): void => {
    beganAt ??= clock.monotonic();
  };
  try {
    const node = await nodes.reach(row.node_id);
    const prepared = await work.prepare?.(node);
    if (work.prepare) await insertSpan(sql, clock, { ...span, kind: `exec_${row.backend}` });
    const { value, execMs, changed, detail } = await work.run(node, prepared, { began, signal });
    stopHolding();
    const after = await free({ execMs, changed }, endingSpan(sql, clock, span.id, execMs), detail);
    return { value, before: row.generation, after, row };
  } catch (error) {
    stopHolding();
    const failed = error instanceof ApiError || error instanceof NodeFailure ? error.code : 'broken';
    const hasBegun = beganAt !== undefined && !neverArrived(error);
    const execMs = hasBegun ? clock.monotonic() - (beganAt ?? 0) : undefined;
    const ended = hasBegun || !isRefusal(error) ? endingSpan(sql, clock, span.id) : removingSpan(sql, span.id);
    // The command may have changed the workspace, if only by its inputs.
    await free({ execMs, changed: hasBegun || work.prepare !== undefined }, ended, { failed });
    throw (hasBegun && interruptionOf(error, own?.stopping)) || toApiFailure(error);
  } finally {
    own?.end();
  }
}

/** The error of a command that began and was cut off from outside. */
function interruptionOf(error: unknown, stopping: AbortSignal | undefined): ApiError | undefined {
  if (stopping?.aborted) return interrupted('the platform stops');
  const isLost = error instanceof NodeFailure && error.code === 'unreachable';
  return isLost ? interrupted('the machine of this sandbox was lost') : undefined;
}

/** Whether the node was not there to be asked. */
function neverArrived(error: unknown): boolean {
  if (!(error instanceof NodeFailure) || error.code !== 'unreachable') return false;
  return ['ECONNREFUSED', 'ENOENT'].includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** Whether nothing ran: sandboxd said no, or the request was faulty. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ApiError) return error.code !== 'workspace_too_large';
  return error instanceof NodeFailure && error.code !== 'unreachable' && error.code !== 'workspace_too_large';
}

/** Takes the sandbox; where it cannot be taken, throws the first reason in the order of the document. */
async function take(
  kernel: Kernel,
  taker: Parameters<typeof takeSandbox>[2],
  begins: () => Fragment,
): Promise<SandboxRow> {
  const { id, accountId } = taker;
  const attempt = () => takeSandbox(kernel.sql, kernel.clock, taker, mayRun(kernel, accountId), begins());
  const taken = await attempt();
  if (taken) return taken;
  await requireRunning(kernel, accountId, id);
  await checkPaid(kernel, accountId);
  await checkDaily(kernel, accountId);
  // The debt is paid by now, or the command before has ended.
  const later = await attempt();
  if (later) return later;
  await requireRunning(kernel, accountId, id);
  throw busy();
}

async function requireRunning(kernel: Kernel, accountId: string, id: string): Promise<void> {
  const row = await findSandbox(kernel.sql, accountId, id);
  if (!row) throw notFound('sandbox');
  if (row.state !== 'running') throw notRunning();
}

/** The outcome of a command. */
interface Ran {
  exit: Extract<ExecEvent, { type: 'exit' }>;
  texts: { stdout: string; stderr: string };
  truncated: ('stdout' | 'stderr')[];
  outputs: OutputFile[];
  written: WrittenInput[];
}

/** Runs a command with its inputs; its output goes to the call's frames as it comes, and into the answer. */
export async function runCommand(
  caller: Caller,
  nodes: Nodes,
  id: string,
  command: Command,
): Promise<{ result: Result; row: SandboxRow }> {
  const { frames } = caller;
  const { inputs, timeout_seconds, ...request } = command;
  const done = await inSandbox<WrittenInput[], Ran>(caller, nodes, id, {
    action: 'exec',
    asked: hashesOf(command, []),
    ...(inputs.length > 0 && { prepare: (node: NodeClient) => writeInputs(caller, node, id, inputs) }),
    async run(node, written = [], { began, signal }) {
      const texts = { stdout: '', stderr: '' };
      const truncated: Ran['truncated'] = [];
      const events = node.exec(id, { ...request, timeout_ms: timeout_seconds * 1000 }, signal);
      let exit: Extract<ExecEvent, { type: 'exit' }> | undefined;
      for await (const event of events) {
        if (event.type === 'error') throw new NodeFailure(event.code, event.message);
        began();
        if (event.type === 'exit') exit = event;
        else {
          if (event.type === 'stdout' || event.type === 'stderr') texts[event.type] += event.data;
          if (event.type === 'truncated') truncated.push(event.stream);
          await frames?.send(event);
        }
      }
      if (!exit) throw new NodeFailure('unreachable', 'the command ended without an answer');
      const { exit_code, timed_out, duration_ms, outputs } = exit;
      const detail = { exit_code, timed_out, duration_ms, ...hashesOf(command, written) };
      const changed = exit.changed !== false || written.length > 0;
      return { value: { exit, texts, truncated, outputs, written }, execMs: duration_ms, changed, detail };
    },
  });
  const { exit, texts, truncated, outputs, written } = done.value;
  const result: Result = {
    exit_code: exit.exit_code,
    ...texts,
    truncated,
    timed_out: exit.timed_out,
    duration_ms: exit.duration_ms,
    receipt: {
      image_digest: done.row.image_digest ?? '',
      template: done.row.template,
      ...hashesOf(command, written),
      outputs,
      generation_before: done.before,
      generation_after: done.after,
    },
  };
  return { result, row: done.row };
}

/**
 * `command_sha256` of the canonical JSON (sorted keys, no spaces) of the request without stdin and inputs;
 * `input_sha256` over the stdin bytes, then path, NUL, hex SHA-256, newline of each input (design: sandboxes, 11).
 */
function hashesOf(command: Command, written: readonly WrittenInput[]) {
  const { stdin, inputs: _, ...rest } = command;
  const input = createHash('sha256').update(stdin ?? '');
  for (const { path, sha256 } of written) input.update(`${path}\0${sha256}\n`);
  return {
    input_sha256: input.digest('hex'),
    command_sha256: createHash('sha256').update(canonical(rest)).digest('hex'),
  };
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}
