import { access, constants, mkdir, rm, stat } from 'node:fs/promises';
import { constants as systemConstants } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { agentSpec, shellSpec } from '@svc/contract';
import type { z } from 'zod';
import { errnoOf, NotApproved, OpError, toOpError } from '../failure.ts';
import { locateExisting } from '../places.ts';
import { hashCommand, hashPrompt } from './approvals.ts';
import type { Execution, RunTask } from './context.ts';
import { collectEnvironment } from './environment.ts';
import { runVariable, type RunOutcome } from './journal.ts';
import { runGuarded } from './process.ts';
import { readReport, reportPath, reportVariable } from './report-file.ts';
import { createScrubber } from './scrub.ts';
import { createTail } from './tail.ts';

/** Runs a shell command that was approved on this machine. */
export async function runShell(task: RunTask, execution: Execution): Promise<RunOutcome> {
  const spec = shellSpec.parse(task.spec);
  await requireApproval(task, hashCommand(spec), execution);
  const shell = spec.shell ?? 'sh';
  // A plain name or an absolute path: what a relative path means would depend on where it starts.
  if (!/^(\/|[\w.+-]+$)/.test(shell) || shell.includes('\u0000'))
    throw new OpError('shell: not a program name or path');
  return runProgram(task, execution, {
    program: shell,
    args: ['-c', spec.command],
    cwd: spec.cwd,
    names: spec.env_names ?? [],
    variables: { SVC_SCHEDULE_ID: task.schedule_id },
    input: undefined,
  });
}

/** Runs the agent command of the policy file with the prompt, approved here where the policy asks, on its standard input. */
export async function runAgent(task: RunTask, execution: Execution): Promise<RunOutcome> {
  const spec = agentSpec.parse(task.spec);
  const asks = execution.policy.agent?.ask === true;
  if (asks && !(await execution.machine.approvals.isApproved(task.schedule_id, hashPrompt(spec)))) {
    throw new NotApproved('prompt_not_approved: run "svc host approve" on this host');
  }
  return runPrompt(task, execution, spec, { SVC_SCHEDULE_ID: task.schedule_id });
}

/** Runs the agent command with a prompt that may be run. */
export async function runPrompt(
  task: Pick<RunTask, 'id' | 'attempt' | 'ignore'>,
  execution: Execution,
  spec: z.output<typeof agentSpec>,
  variables: Record<string, string>,
): Promise<RunOutcome> {
  const { agent } = execution.policy;
  const [program, ...args] = agent?.command ?? [];
  if (!agent || program === undefined) throw new OpError('no agent command is configured on this host');
  return runProgram(task, execution, {
    program,
    args,
    cwd: agent.cwd,
    names: agent.env_names ?? [],
    variables: {
      ...variables,
      SVC_SKILL: spec.skill ?? '',
      SVC_PERMISSIONS: [spec.permissions ?? []].flat().join(','),
    },
    input: spec.prompt,
  });
}

interface Program {
  program: string;
  args: readonly string[];
  /** Relative to the first root. */
  cwd: string | undefined;
  /** Variables whose values this machine has. */
  names: readonly string[];
  variables: Record<string, string>;
  input: string | undefined;
}

async function requireApproval(task: RunTask, hash: string, { machine }: Execution): Promise<void> {
  if (task.command_hash !== hash) throw new OpError('hash_mismatch: the command is not the one its hash was made of');
  if (await machine.approvals.isApproved(task.schedule_id, hash)) return;
  throw new NotApproved('command_not_approved: run "svc host approve" on this host');
}

async function runProgram(
  task: Pick<RunTask, 'id' | 'attempt' | 'ignore'>,
  execution: Execution,
  wanted: Program,
): Promise<RunOutcome> {
  const { machine, signal } = execution;
  const cwd = await directoryOf(wanted.cwd ?? '.', execution);
  const report = reportPath(machine.reportDirectory, task.id, task.attempt);
  const own = {
    [runVariable]: task.id,
    SVC_RUN_ATTEMPT: String(task.attempt),
    [reportVariable]: report,
  };
  const { env, secrets, likely } = await collectEnvironment(wanted.names, { ...wanted.variables, ...own }, machine);
  const scrubber = createScrubber(new Map([...secrets, ['key', machine.key]]), likely);
  const tail = createTail(scrubber, task.ignore);
  execution.onTail(tail);
  await mkdir(machine.reportDirectory, { recursive: true, mode: 0o700 });
  try {
    const result = await runGuarded({
      file: await findProgram(wanted.program, env['PATH'] ?? ''),
      args: wanted.args,
      cwd,
      env: { ...env, PWD: cwd },
      input: wanted.input,
      signal,
      killAfterMs: machine.killAfterMs,
      groups: machine.groups,
      onStarted: execution.onStarted,
      onOutput: (chunk) => tail.push(chunk),
    });
    const code = result.signal === null ? result.code : 128 + systemConstants.signals[result.signal];
    const count = result.ended?.processes;
    return {
      ...outcomeOf(code, result.ended ? String(signal.reason) : undefined),
      ...(count !== undefined && { ended_processes: count }),
      ...(await readReport(report)),
    };
  } catch (error) {
    if (errnoOf(error) === 'E2BIG') throw new OpError('the command is too long for this system');
    throw new OpError(scrubber.all(toOpError(error).message), { cause: error });
  } finally {
    tail.end();
    await rm(report, { force: true });
  }
}

function outcomeOf(code: number | null, ended: string | undefined): RunOutcome {
  if (ended !== undefined) return { ok: false, error: ended };
  if (code === null) return { ok: false, error: 'the command vanished' };
  return { ok: code === 0, exit_code: code, ...(code !== 0 && { error: `exit code ${code}` }) };
}

async function directoryOf(path: string, { machine, policy }: Execution): Promise<string> {
  try {
    const real = await locateExisting(path, { roots: policy.roots, hidden: machine.hidden });
    if (!(await stat(real)).isDirectory()) throw new OpError('not_a_directory');
    return real;
  } catch (error) {
    throw new OpError(`cwd: ${toOpError(error).message}`, { cause: error });
  }
}

/** The path of a program; throws `OpError` when this machine does not have it. */
async function findProgram(program: string, searched: string): Promise<string> {
  const places = isAbsolute(program)
    ? [program]
    : searched.split(':').map((directory) => join(directory || '.', program));
  for (const path of places) {
    const found = await access(path, constants.X_OK)
      .then(() => stat(path))
      .catch(() => undefined);
    if (found?.isFile()) return path;
  }
  throw new OpError(`the program ${program} is not on this host`);
}
