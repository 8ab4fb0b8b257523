import type { Approver } from './approval.ts';
import { hasPolicy, writeDefaultPolicy } from './policy.ts';
import { userName } from './self.ts';

/** How a machine comes to its first policy. */
interface FirstPolicy {
  path: string;
  /** The command line allows commands. */
  allowShell: boolean;
  approver: Approver;
  signal: AbortSignal;
}

/**
 * Writes the first policy: commands are asked about one by one, unless the command line or a person at this machine allows
 * them. Answers false when there is a policy already.
 */
export async function beginPolicy({ path, allowShell, approver, signal }: FirstPolicy): Promise<boolean> {
  if (await hasPolicy(path)) return false;
  const user = userName();
  const question = `first run: may your other devices run any command here as ${user}, without asking each time?`;
  const allowed = allowShell || (approver.available() && (await approver.ask(question, signal)) === 'yes');
  await writeDefaultPolicy(path, allowed ? 'allow' : 'ask');
  return true;
}
