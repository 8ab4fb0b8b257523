import { userInfo } from 'node:os';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Db } from '../kernel/db/db.ts';
import { readFact, writeFact } from '../kernel/db/facts.ts';

/** What became of the backups that the platform makes by itself, as the process that makes them keeps it. */
export interface BackupRecord {
  /** The folder or bucket that the rest is of. */
  place?: string;
  /** The newest one. */
  newest?: { name: string; bytes: number; at: string };
  /** RFC 3339; while one is being made. */
  begun_at?: string;
  /** The first failure since the newest one, and the last words of it. */
  failed?: { since: string; reason: string; fix: string };
}

const fact = 'backups';
/** Bus topic: a person wants a backup now. */
export const wantedTopic = 'system.backup_wanted';

/** The record of a place; an empty one before the first look, and after another one was chosen. */
export async function readRecord(db: Db, place: string | undefined): Promise<BackupRecord> {
  const value = await readFact(db, fact);
  const record = value === undefined ? {} : (JSON.parse(value.toString()) as BackupRecord);
  // A release before named no place.
  return place === undefined || (record.place ?? place) !== place ? {} : record;
}

/** Keeps the record. One process at a time makes backups, and writes it. */
export const writeRecord = (db: Db, record: BackupRecord): Promise<void> =>
  writeFact(db, fact, Buffer.from(JSON.stringify(record)));

type Fault = 'forbidden' | 'full' | 'missing' | 'nowhere' | 'bucket' | 'other';

/** Why no backup was made, and what an operator does about it. */
export function faultOf(error: unknown, place: string): { kind: Fault; reason: string; fix: string } {
  const reason = error instanceof CommandError || error instanceof Error ? error.message : 'it failed';
  const fix = adviceOf(reason, place) ?? 'see the log of the platform, then ./svc backup create';
  return { kind: kindOf(reason, place), reason, fix };
}

/** What an operator does about a place that took no backup for this reason. */
export function adviceOf(reason: string, place: string): string | undefined {
  const kind = kindOf(reason, place);
  if (kind === 'forbidden') return `let the platform write there: ${chownOf(place)}`;
  if (kind === 'full') return 'free room there, or keep fewer (SVC_BACKUP_KEEP)';
  if (kind === 'missing') return 'make it, or mount its disk';
  if (kind === 'nowhere') return 'name another place: in the hub (System), or SVC_BACKUP_DIR and a restart';
  if (kind === 'bucket') return 'look at the bucket, its endpoint and its keys';
  return undefined;
}

function kindOf(reason: string, place: string): Fault {
  if (/\((?:EACCES|EPERM)\)/.test(reason)) return 'forbidden';
  if (/is full/.test(reason)) return 'full';
  if (/there is no/.test(reason)) return 'missing';
  if (/is no folder|EROFS/.test(reason)) return 'nowhere';
  return place.startsWith('s3://') ? 'bucket' : 'other';
}

/** The command that lets the platform write in a folder. */
export const chownOf = (place: string): string => `chown -R ${userInfo().username} ${place}`;
