import type { Db } from '../../kernel/db/db.ts';
import type { EnvironmentRow } from './environments.rows.ts';

/** Tells of something that happened to an environment, in the transaction in which it does. */
type Hook<D> = (db: Db, row: EnvironmentRow, details: D) => Promise<void>;

/** What an environment's members are told by others. */
export interface EnvironmentHooks {
  failed: Hook<{ reason: string }>;
  /** Once a month each. At 100 % the machine is stopped. */
  budget: Hook<{ percent: 80 | 100; month: string; spentMicroEur: number; budgetMicroEur: number }>;
  stoppedIdle: Hook<{ idleMinutes: number }>;
  /** What they were told of its failure, or of its stop, is over. */
  over: Hook<{ isGone: boolean }>;
}

const nothing = (): Promise<void> => Promise.resolve();

/** Nobody is told. */
export const noHooks: EnvironmentHooks = { failed: nothing, budget: nothing, stoppedIdle: nothing, over: nothing };
