import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { constants } from 'node:os';
import type { HostOpArgs, HostOpResult } from '@svc/contract';
import { errnoOf, OpError } from '../failure.ts';
import { type GroupResult, type Kept, runGroup } from '../groups.ts';
import { locateExisting } from '../places.ts';
import { decodeWithin } from '../text.ts';
import { defineOp, type OpContext } from './op.ts';

const keepBytes = 1024 * 1024;
/** JSON bytes of both streams: with the rest they stay under the 12 MB of a result. */
const maxJson = 11_500_000;

/** A shell command as it is started. */
export interface ShellCommand {
  file: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  input: Buffer | undefined;
}

/** Makes the command of a shell operation; throws `OpError` when it cannot run here. */
export async function shellCommand(
  { command, cwd: wanted = '.', env: added, stdin }: HostOpArgs<'shell'>,
  { places, environment }: Pick<OpContext, 'places' | 'environment'>,
): Promise<ShellCommand> {
  const cwd = await locateExisting(wanted, places);
  if (!(await stat(cwd)).isDirectory()) throw new OpError('not_a_directory');
  // The gateway's key stays out even when the caller names it: a command's environment is easily printed.
  const { SVC_API_KEY: _, ...env } = { ...environment, ...added };
  const file = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
  const input = stdin === undefined ? undefined : Buffer.from(stdin, 'base64');
  return { file, args: ['-c', command], cwd, env, input };
}

/** `shell`. */
export const shell = defineOp('shell', async (args, context) => {
  const command = await shellCommand(args, context);
  const signals = [context.signal];
  if (args.timeout_ms !== undefined) signals.push(AbortSignal.timeout(args.timeout_ms));
  let result: GroupResult;
  try {
    result = await runGroup({
      ...command,
      signal: AbortSignal.any(signals),
      keepBytes,
      killAfterMs: context.killAfterMs,
      groups: context.groups,
    });
  } catch (error) {
    if (errnoOf(error) === 'E2BIG') throw new OpError('bad_args: command: too long');
    throw error;
  }
  const { reason } = context.signal;
  if (result.ended && context.signal.aborted && reason !== 'timeout') throw new OpError(String(reason));
  return shellAnswer(result);
});

function shellAnswer(result: GroupResult): HostOpResult<'shell'> {
  const stdout = decodeWithin(result.stdout.bytes, roomBeside(result.stderr), result.stdout.cut);
  const stderr = decodeWithin(result.stderr.bytes, roomBeside(result.stdout), result.stderr.cut);
  const lost = stdout.bytes + stderr.bytes < result.stdout.bytes.length + result.stderr.bytes.length;
  return {
    exit_code: result.ended ? null : exitCode(result),
    stdout: stdout.text,
    stderr: stderr.text,
    timed_out: result.ended !== undefined,
    ...(result.ended?.processes !== undefined && { ended_processes: result.ended.processes }),
    truncated: result.stdout.cut || result.stderr.cut || lost,
  };
}

/** Room for one stream: half of the whole, more when the other is so short that it cannot need its half. */
function roomBeside(other: Kept): number {
  return Math.max(maxJson / 2, maxJson - other.bytes.length * 6);
}

function exitCode({ code, signal }: GroupResult): number | null {
  return signal === null ? code : 128 + constants.signals[signal];
}
