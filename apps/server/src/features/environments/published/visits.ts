import type { Db } from '../../../kernel/db/db.ts';
import { mayReach } from '../environments.reach.ts';
import { isServed } from '../environments.states.ts';
import { type Visit, type VisitRow, visitRows } from './visits.sql.ts';

/** A published port, and whether whoever asks may reach it. */
interface Visited extends VisitRow {
  isOpen: boolean;
  /** Whether it has a machine; one that stands still counts. */
  isServed: boolean;
}

/** The port of each visit, in their order; undefined where none is published. */
export async function visits(db: Db, all: readonly Visit[]): Promise<(Visited | undefined)[]> {
  const rows = await visitRows(db, all);
  return rows.map((row) => row && { ...row, isOpen: isOpenTo(row), isServed: isServed(row) });
}

const isOpenTo = (row: VisitRow): boolean => row.visibility === 'public' || (row.is_known && mayReach(row));
