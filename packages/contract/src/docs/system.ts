import type { system } from '../system.ts';
import type { Docs } from './docs.ts';

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
} satisfies Docs<typeof system>;
