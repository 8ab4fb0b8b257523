import { userInfo } from 'node:os';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Db } from '../kernel/db/db.ts';
import { readFact, writeFact } from '../kernel/db/facts.ts';

/** What became of the backups that the platform makes by itself, as the process that makes them keeps it. */
export interface BackupRecord {
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

/** The record; an empty one before the first look. */
export async function readRecord(db: Db): Promise<BackupRecord> {
  const value = await readFact(db, fact);
  return value === undefined ? {} : (JSON.parse(value.toString()) as BackupRecord);
}

/** Keeps the record. One process at a time makes backups, and writes it. */
export const writeRecord = (db: Db, record: BackupRecord): Promise<void> =>
  writeFact(db, fact, Buffer.from(JSON.stringify(record)));

/** Why no backup was made, and what an operator does about it. */
export function faultOf(error: unknown, place: string): { reason: string; fix: string } {
  const reason = error instanceof CommandError || error instanceof Error ? error.message : 'it failed';
  if (/\((?:EACCES|EPERM)\)/.test(reason))
    return { reason, fix: `let the platform write there: chown -R ${userInfo().username} ${place}` };
  if (/is full/.test(reason)) return { reason, fix: 'free room there, or keep fewer (SVC_BACKUP_KEEP)' };
  if (/is no folder|EROFS/.test(reason)) return { reason, fix: 'name another place (SVC_BACKUP_DIR), then restart' };
  return { reason, fix: 'see the log of the platform, then ./svc backup create' };
}
