import { z } from 'zod';
import { dateTime, uuid } from './fields.ts';
import { bytes, json, route } from './route.ts';
import { gives } from './strength.ts';

const hasUser = (url: string): boolean => {
  const { username = '', password = '' } = URL.parse(url) ?? {};
  return username !== '' || password !== '';
};

const newest = z.object({ name: z.string(), bytes: z.int(), at: dateTime });

/** How the installation does, for its operators; to all others the route is 404 (design: hub; additive). */
export const system = {
  get: route({
    method: 'GET',
    path: '/v1/system',
    summary: 'How this installation does, and how to mend what is wrong',
    auth: 'key',
    answers: json(
      z
        .object({
          version: z.string(),
          started_at: dateTime.describe('Of the process that answers'),
          urls: z.object({
            base: z.string(),
            hub: z.string(),
            auth: z.string(),
            relay: z.string(),
            resolve: z.string(),
          }),
          https: z.boolean().describe('Whether the base URL is an https one'),
          checks: z.array(
            z.object({
              name: z.string(),
              ok: z.boolean(),
              detail: z.string(),
              fix: z.string().optional().describe('What to do'),
            }),
          ),
          gateways: z
            .array(
              z.object({
                id: uuid,
                answers_this: z.boolean(),
                part: z.enum(['all', 'gateway', 'worker', 'relay']).optional().describe('What it was started for'),
              }),
            )
            .describe('Processes with a lease on the database'),
          sandbox_nodes: z.array(
            z.object({
              id: z.string(),
              slots: z.int().describe('Sandboxes that may run at once'),
              used: z.int(),
              backends: z.array(z.string()).describe('Those that run there'),
              images: z.array(
                z.object({
                  template: z.string(),
                  state: z.enum(['absent', 'building', 'ready', 'failed']),
                  percent: z.int().optional().describe('While it is built'),
                }),
              ),
            }),
          ),
          providers: z.array(z.object({ id: z.string(), kind: z.string(), label: z.string(), healthy: z.boolean() })),
          mail: z.object({ configured: z.boolean(), from: z.string().optional() }),
          disk: z.object({ free_bytes: z.int(), total_bytes: z.int() }).describe('Of the data dir'),
        })
        .meta({ id: 'System' }),
    ),
    errors: ['not_found'],
  }),
  backups: route({
    method: 'GET',
    path: '/v1/system/backups',
    summary: 'What became of the backups that the platform makes by itself',
    auth: 'key',
    answers: json(
      z
        .object({
          place: z.string().optional().describe('The folder or bucket; absent: the platform makes none'),
          set_by: z
            .enum(['settings', 'hub'])
            .optional()
            .describe('Who said the place: `SVC_BACKUP_DIR`, which wins, or an operator by `PUT …/place`'),
          s3: z
            .object({ endpoint: z.string().optional(), region: z.string(), access_key_id: z.string().optional() })
            .optional()
            .describe('How a bucket that an operator chose is reached; its secret key is shown to nobody'),
          own_server: z
            .boolean()
            .describe('The database is a server of the operator, which is backed up by its own means'),
          every_s: z.int(),
          keep: z.int().describe('How many are kept'),
          sealed: z.boolean().describe('Whether the secrets are in them, sealed; else they are left out'),
          newest: newest.optional(),
          begun_at: dateTime.optional().describe('While one is being made'),
          next_at: dateTime.optional().describe('When the next one is due'),
          failed: z
            .object({
              since: dateTime.describe('The first failure since the newest one was made'),
              reason: z.string(),
              fix: z.string().describe('What to do'),
            })
            .optional(),
        })
        .meta({ id: 'Backups' }),
    ),
    errors: ['not_found'],
  }),
  backUp: route({
    method: 'POST',
    path: '/v1/system/backups',
    summary: 'Make a backup now, where the platform makes them; `begins` is false where it makes none',
    auth: 'key',
    notIdempotent: 'a repeat while one is being made asks for another one after it',
    answers: json(z.object({ begins: z.boolean() }), 202),
    errors: ['not_found'],
  }),
  setBackupPlace: route({
    method: 'PUT',
    path: '/v1/system/backups/place',
    summary: 'Choose where the platform puts backups by itself: a folder or a bucket, which is tried at once',
    auth: 'key',
    only: 'login',
    ...gives('operator'),
    takes: json(
      z.object({
        place: z
          .string()
          .trim()
          .regex(/^(?:\/|s3:\/\/[^/\s]).*[^\s]$/, 'must be a whole path such as /mnt/backup/svc, or s3://bucket/prefix')
          .max(1_000)
          .describe(
            'A folder of the machine that the platform runs on, outside of its data folder, or `s3://bucket/prefix`',
          ),
        s3: z
          .object({
            endpoint: z
              .url({ protocol: /^https?$/ })
              .max(1_000)
              // It is shown to operators and stands in the audit log.
              .refine(
                (value) => !hasUser(value),
                'must have no user and no password: the keys have fields of their own',
              )
              .optional()
              .describe('Absent: that of Amazon'),
            region: z.string().min(1).max(100).default('us-east-1'),
            access_key_id: z.string().min(1).max(500),
            secret_access_key: z.string().min(1).max(500).describe('Kept sealed, and shown to nobody again'),
          })
          .optional()
          .describe('How the bucket is reached; absent: as the settings `SVC_BACKUP_S3_…` or `SVC_S3_…` say'),
      }),
    ),
    answers: json(z.object({ place: z.string() })),
    errors: ['not_found'],
  }),
  removeBackupPlace: route({
    method: 'DELETE',
    path: '/v1/system/backups/place',
    summary: 'End backups by the platform itself, where an operator chose the place; what was made stays there',
    auth: 'key',
    only: 'login',
    ...gives('operator'),
    answers: json(z.object({ deleted: z.literal(true) })),
    errors: ['not_found'],
  }),
  listBackups: route({
    method: 'GET',
    path: '/v1/system/backups/files',
    summary: 'The backups that are kept, the newest first',
    auth: 'key',
    only: 'login',
    ...gives('operator'),
    answers: json(z.object({ data: z.array(newest) })),
    errors: ['not_found', 'unavailable'],
  }),
  readBackup: route({
    method: 'GET',
    path: '/v1/system/backups/files/{name}',
    summary: 'A backup as a file; all that accounts stored is in it',
    auth: 'key',
    only: 'login',
    ...gives('operator'),
    params: z.object({ name: z.string().max(300) }),
    answers: bytes(0, 'application/zstd'),
    errors: ['not_found', 'unavailable'],
  }),
};
