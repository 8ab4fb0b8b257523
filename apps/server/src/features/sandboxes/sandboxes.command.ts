import { createHash, randomUUID } from 'node:crypto';
import type { contract, execResult, RouteParsed } from '@svc/contract';
import { type ExecEvent, type NodeClient, NodeFailure } from '@svc/sandboxd-api';
import type { z } from 'zod';
import type { Context, Kernel } from '../../kernel/context.ts';
import { commitLater, inTransaction } from '../../kernel/db.ts';
import { ApiError } from '../../kernel/errors.ts';
import { checkDaily, checkPaid, deleteSpan, endSpan, insertSpan } from '../metering/index.ts';
import { type WrittenInput, writeInputs } from './sandboxes.inputs.ts';
import { busy, type Nodes, notRunning, toApiFailure } from './sandboxes.nodes.ts';
import { findSandbox, freeSandbox, holdSandbox, insertAudit, type SandboxRow, takeSandbox } from './sandboxes.sql.ts';

/** On whose behalf a command runs: a request, or a run of the scheduler. */
export type Caller = Pick<Context, 'kernel' | 'actor' | 'signal' | 'frames'>;
export type Command = RouteParsed<typeof contract.sandboxes.exec>['body'];
type Result = z.input<typeof execResult>;

/** A command holds its sandbox this long at a time, so that one whose gateway died is soon free. */
const holdMs = 30_000;
const renewEveryMs = 10_000;

/** What `work` came to: how long the node was busy with it, and whether it may have changed the workspace. */
interface Done<T> {
  value: T;
  execMs: number;
  /** For the audit log. */
  detail: object;
}

/**
 * Does `work` in a sandbox that nothing else runs in: checks balance and daily limit, holds the sandbox, meters the
 * time, counts the change, and writes the audit line. Work that never began counts as nothing.
 */
export async function inSandbox<T>(
  caller: Caller,
  nodes: Nodes,
  id: string,
  action: 'exec' | 'run_code',
  work: (row: SandboxRow, node: NodeClient) => Promise<Done<T>>,
): Promise<{ value: T; before: number; after: number; row: SandboxRow }> {
  const { kernel, actor } = caller;
  const { sql, clock } = kernel;
  const { accountId, keyId } = actor;
  const { backend } = await admit(kernel, accountId, id);
  const holder = randomUUID();
  const span = { id: randomUUID(), accountId, sandboxId: id, kind: `exec_${backend}` as const };
  const row = await take(kernel, span, holder);
  const stopHolding = clock.every(renewEveryMs, () => {
    holdSandbox(sql, clock, id, holder, holdMs).catch((err: unknown) =>
      kernel.log.warn({ err }, 'a sandbox is not held'),
    );
  });
  try {
    const { value, execMs, detail } = await work(row, nodes.of(row.node_id));
    stopHolding();
    // Sent together: on the way of every command a round trip counts.
    const [after] = await inTransaction(sql, (tx) =>
      Promise.all([
        freeSandbox(tx, clock, id, holder, { execMs, changed: true }),
        endSpan(tx, clock, span.id, execMs),
        insertAudit(tx, { accountId, keyId, sandboxId: id, action, detail }),
      ]),
    );
    return { value, before: row.generation, after, row };
  } catch (error) {
    stopHolding();
    await inTransaction(sql, async (tx) => {
      const started = !isRefusal(error);
      if (started) await endSpan(tx, clock, span.id);
      else await deleteSpan(tx, span.id);
      if (started) {
        const detail = { failed: error instanceof ApiError || error instanceof NodeFailure ? error.code : 'broken' };
        await insertAudit(tx, { accountId, keyId, sandboxId: id, action, detail });
      }
      await freeSandbox(tx, clock, id, holder, { changed: started });
    });
    throw toApiFailure(error);
  }
}

/** Whether nothing ran: sandboxd said no, or the request was faulty. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ApiError) return error.code !== 'workspace_too_large';
  return error instanceof NodeFailure && error.code !== 'unreachable' && error.code !== 'workspace_too_large';
}

/** Whether a command may run: the sandbox is the caller's and runs, nothing is owed, the day has time left. */
async function admit(kernel: Kernel, accountId: string, id: string): Promise<SandboxRow> {
  const checks = [checkPaid(kernel, accountId), checkDaily(kernel, accountId)];
  const [found, ...others] = await Promise.allSettled([requireRunning(kernel, accountId, id), ...checks]);
  for (const check of [found, ...others]) if (check?.status === 'rejected') throw check.reason;
  return (found as PromiseFulfilledResult<SandboxRow>).value;
}

async function requireRunning(kernel: Kernel, accountId: string, id: string): Promise<SandboxRow> {
  const row = await findSandbox(kernel.sql, accountId, id);
  if (!row) throw toApiFailure(new NodeFailure('not_found', ''));
  if (row.state !== 'running') throw notRunning();
  return row;
}

/** Takes the sandbox and begins the span of its command; nothing is acknowledged by it, so the disk is not waited for. */
async function take(kernel: Kernel, span: Parameters<typeof insertSpan>[2], holder: string): Promise<SandboxRow> {
  const { sql, clock } = kernel;
  try {
    return await inTransaction(sql, async (tx) => {
      const [taken] = await Promise.all([
        takeSandbox(tx, clock, span.sandboxId, holder, holdMs),
        insertSpan(tx, clock, span),
        commitLater(tx),
      ]);
      if (!taken) throw busy();
      return taken;
    });
  } catch (error) {
    if (error instanceof ApiError) await requireRunning(kernel, span.accountId, span.sandboxId);
    throw error;
  }
}

/** Runs a command with its inputs; its output goes to the call's frames as it comes, and into the answer. */
export async function runCommand(
  caller: Caller,
  nodes: Nodes,
  id: string,
  command: Command,
): Promise<{ result: Result; row: SandboxRow }> {
  const { frames, signal } = caller;
  const done = await inSandbox(caller, nodes, id, 'exec', async (_row, node) => {
    const written = await writeInputs(caller, node, id, command.inputs);
    const { inputs: _, timeout_seconds, ...request } = command;
    const texts = { stdout: '', stderr: '' };
    const events = node.exec(id, { ...request, timeout_ms: timeout_seconds * 1000 }, signal);
    let exit: Extract<ExecEvent, { type: 'exit' }> | undefined;
    for await (const event of events) {
      if (event.type === 'error') throw new NodeFailure(event.code, event.message);
      if (event.type === 'exit') exit = event;
      else {
        if (event.type === 'stdout' || event.type === 'stderr') texts[event.type] += event.data;
        await frames?.send(event);
      }
    }
    if (!exit) throw new NodeFailure('unreachable', 'the command ended without an answer');
    const { exit_code, timed_out, duration_ms, outputs } = exit;
    const detail = { exit_code, timed_out, duration_ms, ...hashesOf(command, written) };
    return { value: { exit, texts, outputs, written }, execMs: duration_ms, detail };
  });
  const { exit, texts, outputs, written } = done.value;
  const result: Result = {
    exit_code: exit.exit_code,
    ...texts,
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

/** The frames that tell a stored result again. */
export function framesOf(result: Result): object[] {
  const { stdout, stderr, ...exit } = result;
  return [
    { type: 'start' },
    ...(stdout === '' ? [] : [{ type: 'stdout', data: stdout }]),
    ...(stderr === '' ? [] : [{ type: 'stderr', data: stderr }]),
    { type: 'exit', ...exit },
  ];
}
