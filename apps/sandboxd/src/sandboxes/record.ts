import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Backend, Egress, EndedProcess, SandboxState, Template } from '@svc/sandboxd-api';

/** A sandbox as it is stored on disk, before anything is acknowledged. Only root can read it. */
export interface SandboxRecord {
  id: string;
  /** Installation of the platform that it belongs to. */
  owner: string;
  /** Names its directory, workspace, control group and container. */
  instance: string;
  backend: Backend;
  template: Template;
  status: 'running' | 'pausing' | 'paused' | 'stopped';
  reason?: string;
  restored: boolean;
  image: { digest: string; rootfs: string };
  /** The copy of the agent that it was started with. */
  guest: string;
  /** Owner of its workspace on this machine. */
  uid: number;
  egress: Egress;
  expires_at: number;
  /**
   * `memory: false`: only its files were kept. `bytes` of disk are those of the memory images and of the workspace, which
   * is counted while the images are written.
   */
  snapshot?: { memory: boolean; bytes: number };
  /** Since when it stands still, until somebody lets it go on (`PUT …/frozen`). */
  frozenAt?: number;
  /** Processes of the snapshot that it came from last, and ended right after; null until its agent tells. */
  ended?: EndedProcess[] | null;
}

/** The state files of all sandboxes of this machine. */
export interface Records {
  save(record: SandboxRecord): Promise<void>;
  remove(id: string): Promise<void>;
  /** Those that can be read. */
  load(): Promise<SandboxRecord[]>;
}

export function createRecords(dir: string, log: (message: string, details?: object) => void): Records {
  const path = (id: string): string => join(dir, `${id}.json`);
  const read = async (name: string): Promise<SandboxRecord[]> => {
    try {
      const record = JSON.parse(await readFile(join(dir, name), 'utf8')) as SandboxRecord;
      if (path(record.id) !== join(dir, name)) throw new Error('the record of another sandbox');
      return [record];
    } catch (error) {
      log('record not read', { name, err: error });
      return [];
    }
  };
  return {
    async save(record) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const fresh = join(dir, `.${record.id}.new`);
      const file = await open(fresh, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify(record));
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(fresh, path(record.id));
    },
    remove: (id) => rm(path(id), { force: true }),
    async load() {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const all = await readdir(dir);
      // Remains of a process that was killed while it wrote.
      for (const name of all) if (name.endsWith('.new')) await rm(join(dir, name), { force: true });
      const names = all.filter((name) => name.endsWith('.json') && !name.startsWith('.'));
      return (await Promise.all(names.map(read))).flat();
    },
  };
}

/** A record as callers see it. */
export function stateOf(record: SandboxRecord): SandboxState {
  const { id, owner, backend, template, reason, restored, expires_at, snapshot, ended, frozenAt } = record;
  return {
    id,
    owner,
    backend,
    template,
    status: record.status === 'pausing' ? 'running' : record.status,
    ...(reason !== undefined && { reason }),
    restored,
    image_digest: record.image.digest,
    expires_at,
    ...(snapshot && { snapshot_bytes: snapshot.bytes, memory: snapshot.memory }),
    ...(frozenAt !== undefined && { frozen_at: frozenAt }),
    ...(ended && ended.length > 0 && { ended_after_resume: ended }),
  };
}
