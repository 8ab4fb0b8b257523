import { resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from './config.error.ts';
import { integer, withoutUser } from './config.fields.ts';

const secondsOf = { m: 60, h: 3_600, d: 86_400 } as const;

/** A span such as `90m`, `6h` or `1d`, as seconds. */
const span = z
  .string()
  .regex(/^[1-9]\d{0,5}[mhd]$/, 'must be a span such as 90m, 6h or 1d')
  .transform((value) => Number.parseInt(value, 10) * secondsOf[value.at(-1) as keyof typeof secondsOf]);

/** Settings of backups. */
export const backupSettings = {
  SVC_BACKUP_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      'where the platform puts a backup by itself: a folder, best on another disk, or `s3://bucket/prefix` at the S3 endpoint; if unset it is what an operator chose in the hub, and without that it makes none',
    ),
  SVC_BACKUP_S3_ENDPOINT: withoutUser(z.url({ protocol: /^https?$/ }), 'SVC_BACKUP_S3_…')
    .optional()
    .describe(
      'S3 endpoint of a bucket for backups that is reached otherwise than that of blobs; default: SVC_S3_ENDPOINT',
    ),
  SVC_BACKUP_S3_REGION: z.string().min(1).optional().describe('its region; default: SVC_S3_REGION'),
  SVC_BACKUP_S3_ACCESS_KEY_ID: z
    .string()
    .min(1)
    .optional()
    .describe('its access key, with its secret key; default: both of SVC_S3_…'),
  SVC_BACKUP_S3_SECRET_ACCESS_KEY: z.string().min(1).optional().describe('its secret key'),
  SVC_BACKUP_EVERY: span
    .default(86_400)
    .describe('how often, a span such as `6h` or `1d` (default `1d`); late by half of it, the owner is told'),
  SVC_BACKUP_KEEP: integer(1, 10_000).default(7).describe('backups that are kept; with one more the oldest goes'),
  SVC_BACKUP_PASSPHRASE: z
    .string()
    .min(12, 'must have 12 characters or more')
    .max(1_000)
    .optional()
    .describe(
      'seals the master key and other secrets in a backup (argon2id); without it they are left out. Keep it apart from the backups: nobody opens them without it',
    ),
} as const;

const parsed = z.object(backupSettings);

/** How a bucket is reached. */
interface Access {
  endpoint: string | undefined;
  region: string;
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
}

/** Settings of backups as the platform uses them; `shared`: how the bucket of blobs is reached. */
export const backupOf = (values: z.output<typeof parsed>, shared: Access) => ({
  /** A folder or `s3://bucket/prefix`. */
  place:
    values.SVC_BACKUP_DIR === undefined || values.SVC_BACKUP_DIR.startsWith('s3://')
      ? values.SVC_BACKUP_DIR
      : resolve(values.SVC_BACKUP_DIR),
  s3: ownAccess(values, shared),
  everySeconds: values.SVC_BACKUP_EVERY,
  keep: values.SVC_BACKUP_KEEP,
  passphrase: values.SVC_BACKUP_PASSPHRASE,
});

/** How the bucket of backups is reached, where that is not as for blobs; what is not said of it is as there. */
function ownAccess(values: z.output<typeof parsed>, shared: Access): Access | undefined {
  const { SVC_BACKUP_S3_ENDPOINT: endpoint, SVC_BACKUP_S3_REGION: region } = values;
  const { SVC_BACKUP_S3_ACCESS_KEY_ID: accessKeyId, SVC_BACKUP_S3_SECRET_ACCESS_KEY: secretAccessKey } = values;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw new ConfigError('SVC_BACKUP_S3_ACCESS_KEY_ID and SVC_BACKUP_S3_SECRET_ACCESS_KEY: set both or none');
  if (endpoint === undefined && region === undefined && accessKeyId === undefined) return undefined;
  return {
    endpoint: endpoint ?? shared.endpoint,
    region: region ?? shared.region,
    accessKeyId: accessKeyId ?? shared.accessKeyId,
    secretAccessKey: secretAccessKey ?? shared.secretAccessKey,
  };
}
