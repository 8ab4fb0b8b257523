import type { system } from '../system.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const url = 'https://svc.example.com';

/** Descriptions and examples of the routes of the system. */
export const systemDocs = {
  get: {
    description:
      'For operators: to every other account the answer is 404. The checks are those of `svc doctor` that a running ' +
      'platform can make of itself, and each fault names its mend in `fix`; the command looks at the machine too.',
    example: {
      response: {
        version: '0.1.0',
        started_at: '2026-11-02T06:00:00.000Z',
        urls: { base: url, hub: `${url}/hub`, auth: `${url}/auth`, relay: `${url}/relay`, resolve: `${url}/resolve` },
        https: true,
        checks: [{ name: 'database', ok: true, detail: 'Postgres 18.1, fsync on, embedded' }],
        gateways: [{ id: '6e5d4c3b-2a19-4807-96f5-e4d3c2b1a09f', answers_this: true, part: 'all' }],
        sandbox_nodes: [],
        providers: [{ id: 'main', kind: 'openai', label: 'Main provider', healthy: true }],
        mail: { configured: false },
        disk: { free_bytes: 41_231_814_656, total_bytes: 107_374_182_400 },
      },
    },
  },
  backups: {
    description:
      'For operators. The process that makes them (`SVC_BACKUP_DIR`) keeps this: it looks once a minute, and tries again ten ' +
      'minutes after a failure, of which operators are told at once (`backup.failed`).',
    example: {
      response: {
        own_server: false,
        every_s: 86_400,
        keep: 7,
        sealed: false,
      },
    },
  },
  backUp: {
    description: 'For operators. It is made beside everything else; `GET /v1/system/backups` says what became of it.',
    example: { response: { begins: false } },
  },
  setBackupPlace: {
    description:
      'For operators who are signed in. A file is written there, read and removed before the place is kept: one that can take no ' +
      'backup is 400 with what to do, and so is any where `SVC_BACKUP_DIR` is set, which wins. What another place has ' +
      'stays there, and counts no more.',
    example: { body: { place: samples.backupPlace }, response: { place: samples.backupPlace } },
  },
  removeBackupPlace: {
    description: 'For operators who are signed in. Where `SVC_BACKUP_DIR` is set this is 400.',
    example: { response: { deleted: true } },
  },
  listBackups: {
    description: 'For operators who are signed in. Of this installation alone: platforms may share a place.',
    example: { response: { data: [{ name: samples.backupFile, bytes: 24, at: '2026-11-02T03:00:00.000Z' }] } },
  },
  readBackup: {
    description:
      'For operators who are signed in, with a proof of the last ten minutes; who read one stands in the audit log. What ' +
      'accounts stored is in it in clear, passwords and keys only sealed (`SVC_BACKUP_PASSPHRASE`).',
    example: { params: { name: samples.backupFile }, response: 'The bytes of the backup.' },
  },
} satisfies Docs<typeof system>;
