import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentSpec, commandHashInput, shellSpec, uuid } from '@svc/contract';
import { z } from 'zod';
import { CommandError, errnoOf } from '../failure.ts';
import type { Lock } from '@svc/process-lock';
import { acquireLock } from '../lock.ts';
import { writePrivate } from '../state.ts';

const approvalsFile = z.object({
  approvals: z.array(
    z.object({
      schedule_id: uuid,
      name: z.string(),
      command_hash: z.string().regex(/^[0-9a-f]{64}$/),
      approved_at: z.iso.datetime(),
    }),
  ),
});

/** A command, or a prompt, that a person at this machine approved. */
type Approval = z.output<typeof approvalsFile>['approvals'][number];

/** An agent run's spec, as the contract defines it. */
export type AgentSpec = z.output<typeof agentSpec>;
/** A shell run's spec, as the contract defines it. */
export type ShellSpec = z.output<typeof shellSpec>;

/** The approvals of this machine: the truth about what it runs, whatever the gateway says. */
export interface Approvals {
  /** Every approval; throws `CommandError` when the file cannot be read. */
  list(): Promise<Approval[]>;
  isApproved(scheduleId: string, hash: string): Promise<boolean>;
  /** Adds an approval in place of the schedule's earlier one. */
  add(approval: Approval): Promise<void>;
  /** Takes back what was approved for a schedule. */
  remove(scheduleId: string): Promise<void>;
  /** Calls `handler` when the file was changed, by this process or another, until `signal` aborts. */
  onChange(handler: () => void, signal: AbortSignal): void;
}

const lockRetries = 250;
const lockRetryMs = 20;

/** Opens the approvals file (0600); one that is not there approves nothing. */
export function openApprovals(path: string): Approvals {
  const list = async (): Promise<Approval[]> => {
    try {
      return approvalsFile.parse(JSON.parse(await readFile(path, 'utf8'))).approvals;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw new CommandError(`cannot read the approvals ${path}: ${errnoOf(error) ?? 'it is damaged'}`);
    }
  };
  const change = async (make: (approvals: Approval[]) => Approval[]) => {
    const lock = await waitForLock(`${path}.lock`);
    try {
      const approvals = make(await list());
      await writePrivate(path, `${JSON.stringify({ approvals }, null, 2)}\n`, false);
    } finally {
      lock.release();
    }
  };
  const others = (approvals: Approval[], id: string) => approvals.filter(({ schedule_id }) => schedule_id !== id);
  return {
    list,
    async isApproved(scheduleId, hash) {
      return (await list()).some((one) => one.schedule_id === scheduleId && one.command_hash === hash);
    },
    add: (approval) => change((approvals) => [...others(approvals, approval.schedule_id), approval]),
    remove: (scheduleId) => change((approvals) => others(approvals, scheduleId)),
    onChange(handler, signal) {
      // The directory: the file is replaced whole. Where the system cannot watch, the next claim after a restart tells.
      try {
        const watcher = watch(dirname(path), { signal, persistent: false }, (_, name) => {
          if (name === basename(path)) handler();
        });
        watcher.on('error', () => {});
      } catch {
        return;
      }
    },
  };
}

/** SHA-256 of what a shell run does, computed here: a hash that the gateway sends proves nothing about the command. */
export function hashCommand(spec: ShellSpec): string {
  return createHash('sha256').update(commandHashInput(spec)).digest('hex');
}

/** SHA-256 of what an agent is told: prompt, skill and permissions, in words that no command's hash is made of. */
export function hashPrompt({ prompt, skill = '', permissions = [] }: AgentSpec): string {
  const told = JSON.stringify(['agent', prompt, skill, [permissions].flat()]);
  return createHash('sha256').update(told).digest('hex');
}

/** Two commands that change the file at once must not lose one of the changes. */
async function waitForLock(path: string): Promise<Lock> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await acquireLock(path);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (attempt >= lockRetries) throw new CommandError(`${path} is held by another command`);
      await sleep(lockRetryMs);
    }
  }
}
