import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { constants } from 'node:os';
import type { HostOpResult } from '@svc/contract';
import { errnoOf, OpError } from '../failure.ts';
import { type GroupResult, type Kept, runGroup } from '../groups.ts';
import { locateExisting } from '../places.ts';
import { decodeWithin } from '../text.ts';
import { defineOp } from './op.ts';

const keepBytes = 1024 * 1024;
/** JSON bytes of both streams: with the rest they stay under the 12 MB of a result. */
const maxJson = 11_500_000;

/** `shell`. */
export const shell = defineOp('shell', async (args, context) => {
  const cwd = await locateExisting(args.cwd ?? '.', context.places);
  if (!(await stat(cwd)).isDirectory()) throw new OpError('not_a_directory');
  const signals = [context.signal];
  if (args.timeout_ms !== undefined) signals.push(AbortSignal.timeout(args.timeout_ms));
  // The gateway's key stays out even when the caller names it: a command's environment is easily printed.
  const { SVC_API_KEY: _, ...env } = { ...context.environment, ...args.env };
  let result: GroupResult;
  try {
    result = await runGroup({
      file: existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh',
      args: ['-c', args.command],
      cwd,
      env,
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
    timed_out: result.ended,
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
