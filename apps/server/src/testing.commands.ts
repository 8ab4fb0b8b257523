import { Command } from 'commander';
import { deletionCommands } from './features/accounts/index.ts';
import { orgRemovalCommands } from './features/orgs/index.ts';
import { accountDeletion, manifests, orgRemoval } from './features.ts';
import { type Admin, format, type Run } from './kernel/commands.ts';
import type { HttpAnswer } from './testing.ts';

/** Runs a command line as `svc` does, on a gateway's own database; answers what it would print as JSON. */
type Svc = (...line: string[]) => Promise<HttpAnswer['body']>;

/** Makes the runner of all commands of features; `parts`: of a deletion. */
export function svcOf(gateway: { readonly kernel: Admin }, parts = accountDeletion): Svc {
  return async (...line) => {
    let result: unknown;
    const run: Run =
      (work) =>
      async (...args) => {
        result = await work(gateway.kernel, ...args);
      };
    const program = new Command();
    for (const { commands } of manifests) commands?.(program, run);
    deletionCommands(parts)(program, run);
    orgRemovalCommands(orgRemoval)(program, run);
    const quieten = (command: Command): void => {
      command.exitOverride().configureOutput({ writeErr: () => {} });
      command.commands.forEach(quieten);
    };
    quieten(program);
    await program.parseAsync(line, { from: 'user' });
    return JSON.parse(format(result, true));
  };
}
