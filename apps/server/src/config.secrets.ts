import { ConfigError } from './config.error.ts';
import { urlOfFirst } from './config.servers.ts';

/**
 * Settings that hold a secret. None is taken from the command line, where every user of the machine can read it: each may
 * come from a file (`SVC_X_FILE`, `--x-file`). A URL has a flag too, for one without a password.
 */
export const secrets = {
  SVC_MASTER_KEY: 'whole',
  SVC_S3_SECRET_ACCESS_KEY: 'whole',
  SVC_BACKUP_S3_SECRET_ACCESS_KEY: 'whole',
  SVC_BACKUP_PASSPHRASE: 'whole',
  SVC_DATABASE_URL: 'in URL',
  SVC_NATS_URL: 'in URL',
  SVC_SMTP_URL: 'in URL',
} as const;
export type Secret = keyof typeof secrets;
export const secretFiles = new Set(Object.keys(secrets).map((name) => `${name}_FILE`));
export const isSecret = (name: string): name is Secret => name in secrets;

/** `--data-dir` for `SVC_DATA_DIR`. */
export const flagOf = (name: string): string => `--${name.slice(4).toLowerCase().replaceAll('_', '-')}`;

/** A command line is read by every user of the machine; a URL without a password may stand there. */
export function refuseOnCommandLine(name: Secret, value: string): void {
  const one = urlOfFirst(value);
  const url = secrets[name] === 'in URL' && URL.canParse(one) ? new URL(one) : undefined;
  // A user without a password is a token to NATS.
  const isSafe =
    url && !url.password && !url.searchParams.has('password') && !(name === 'SVC_NATS_URL' && url.username);
  if (isSafe || (secrets[name] === 'in URL' && !url)) return;
  const flag = flagOf(name);
  throw new ConfigError(
    `${flag}: a secret on a command line is seen by others; set ${name}, or give ${flag}-file <path>`,
  );
}

/** The setting whose flag this was; it has none, since it is a secret. */
export const secretOfFlag = (flag: string): Secret | undefined =>
  (Object.keys(secrets) as Secret[]).find((name) => secrets[name] === 'whole' && flagOf(name) === flag);
