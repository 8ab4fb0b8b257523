import { contract, type environment } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { findProject } from './projects.sql.ts';
import { seen } from './projects.store.ts';
import { toProject } from './projects.view.ts';

/** Environments of a project in which an account has a role. */
export type EnvironmentsOf = (db: Db, accountId: string, projectId: string) => Promise<z.input<typeof environment>[]>;

export const get = (environmentsOf: EnvironmentsOf): Operation =>
  operation(contract.projects.get, async (context, { params }) => {
    const { accountId } = context.actor;
    const row = seen(await findProject(context.db, accountId, params.id));
    return { project: toProject(row), environments: await environmentsOf(context.db, accountId, row.id) };
  });
