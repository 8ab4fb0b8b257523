import { z } from 'zod';
import { derivation } from './seal.ts';

/**
 * A backup is a tar in zstd (`tar --zstd -tf FILE` lists it): first `svc-backup.json`, the header; last `manifest.json` with
 * the length and SHA-256 of every entry before it, and `seal.json` with the manifest's own.
 */
export const names = { header: 'svc-backup.json', manifest: 'manifest.json', seal: 'seal.json' } as const;

/** The form that this build writes and reads. */
export const formatVersion = 1;

/** Where the entries of a backup come from. */
export const places = {
  /** The cluster, with the log that makes it whole. */
  cluster: 'postgres/',
  /** Named byte sequences. */
  blobs: 'blobs/',
  /** Files of the data dir in clear. */
  files: 'data/',
  /** Files of the data dir that hold secrets, sealed. */
  sealed: 'sealed/',
  /** What the node keeps of a sandbox, in pieces of a tar. */
  sandboxes: 'sandboxes/',
  /** Root file systems that memory of paused sandboxes needs, in pieces of an archive. */
  images: 'images/',
} as const;

/** Names of files of the data dir that a backup takes. */
export const takenFiles =
  /^(?:master\.key|owner\.key|lane-[A-Za-z0-9._-]+\.key|settings\.env|providers\.json|prices\.json)$/;

/** `svc-backup.json`: what was backed up, by what. */
export const header = z.object({
  svc_backup: z.int(),
  svc: z.string().max(100),
  created_at: z.iso.datetime(),
  /** Names the platform, whatever machine it is on. */
  installation: z.string().max(100),
  /** The last migration of its database. */
  migration: z.string().max(200),
  postgres: z.object({ major: z.int(), platform: z.string().max(40), arch: z.string().max(40) }),
  /** Null: the file was made without a passphrase, and holds no secret of the data dir. */
  seal: derivation.nullable(),
});
export type Header = z.output<typeof header>;

const entry = z.tuple([z.string().max(1_024), z.int().min(0), z.string().regex(/^[0-9a-f]{64}$/)]);

/** `manifest.json`. */
export const manifest = z.object({
  finished_at: z.iso.datetime(),
  /** Name, bytes, SHA-256. */
  entries: z.array(entry),
  /** Rows of each table, counted while the backup ran. */
  rows: z.record(z.string(), z.int()),
  /** Sandboxes that are in it, and those that are not, with the reason. */
  sandboxes: z.object({
    kept: z.array(z.object({ id: z.string(), status: z.string(), memory: z.boolean() })),
    left: z.array(z.object({ id: z.string(), why: z.string() })),
  }),
});
export type BackupManifest = z.output<typeof manifest>;

/** `seal.json`. */
export const closing = z.object({ sha256: z.string(), mac: z.string().nullable() });

/** A backup as `list`, `verify` and `create` show it. */
export interface BackupSummary {
  file: string;
  created_at: string;
  svc: string;
  bytes: number;
  entries: number;
  rows: number;
  sandboxes: number;
  /** Sandboxes that are not in it, each with the reason; absent: none. */
  left_out?: string[];
  /** Whether the master key is in it. */
  master_key: 'sealed' | 'left out';
}

/** `left_out` of what a command tells: sandboxes that are not in the backup, where there are any. */
export function leftOut({ sandboxes }: BackupManifest): { left_out?: string[] } {
  const lines = sandboxes.left.map(({ id, why }) => (id === 'all' ? why : `sandbox ${id}: ${why}`));
  return lines.length > 0 ? { left_out: lines } : {};
}
