import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { wordsFor } from '@svc/contract/words';
import { z } from 'zod';
import { backupOf } from './config.backup.ts';
import { ConfigError } from './config.error.ts';
import { readSecretFile } from './config.handed.ts';
import { flagOf, isSecret, refuseOnCommandLine, type Secret, secretFiles, secrets } from './config.secrets.ts';
import { quotasOf } from './config.quotas.ts';
import { settings } from './config.settings.ts';

export { ConfigError } from './config.error.ts';

/**
 * Each query of 10 connections on two cores wakes another backend, up to 53 µs: one more than cores is enough for an account,
 * and one is kept for the next account.
 */
const leastPool = 4;
const mostPool = 10;

/** Names that belong to clients and may be in the same environment. */
const clientNames = new Set(['SVC_API_KEY', 'SVC_PROFILE']);
const schema = z.object(settings);

/** Validated, frozen settings with every default that depends on another setting filled in. */
export type Config = Readonly<ReturnType<typeof complete>> & {
  /** Somebody chose the port. */
  readonly portIsSet: boolean;
};
export type SettingName = keyof typeof settings | `${Secret}_FILE`;
/** Settings as a command line, an environment or a settings file gives them. */
export type Given = Readonly<Partial<Record<SettingName, string>>>;

/** A setting of one source: itself, or what is in the file that it names. */
function valueOf(given: Given, name: keyof typeof settings): string | undefined {
  const file = isSecret(name) ? given[`${name}_FILE`] : undefined;
  if (given[name] !== undefined || !file) return given[name];
  try {
    return readSecretFile(file).toString().trim();
  } catch (error) {
    throw new ConfigError(`${name}_FILE: cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}

/** A variable of the environment that a file names, such as the key of a provider; undefined when it is not there. */
export const environmentValue = (name: string, environment = process.env): string | undefined => environment[name];

/** The settings that say where the data dir is, and with it the settings file: read before all other settings. */
export function loadPlace(flags: Given, environment = process.env): Pick<Config, 'dataDir' | 'databaseUrl'> {
  const names = ['SVC_DATA_DIR', 'SVC_DATABASE_URL', 'SVC_DATABASE_URL_FILE'] as const;
  const of = (given: Given): Given => Object.fromEntries(names.map((name) => [name, given[name]]));
  return loadConfig(of(flags), of(environment));
}

/** Tells the host's program of this process which gateway it asks when nobody names one. */
export function giveHostUrl(url: string | undefined): void {
  if (url !== undefined) process.env['SVC_LOCAL_URL'] = url;
}

/**
 * Reads the environment, the flags that override it and the settings file that both override; throws `ConfigError` for a
 * malformed setting.
 */
export function loadConfig(flags: Given = {}, environment: NodeJS.ProcessEnv = process.env, file: Given = {}): Config {
  const names = Object.keys(settings) as (keyof typeof settings)[];
  for (const name of names) if (isSecret(name) && flags[name] !== undefined) refuseOnCommandLine(name, flags[name]);
  const given = Object.fromEntries(
    names.map((name) => [
      name,
      valueOf(flags, name) ?? (valueOf(environment as Given, name) || valueOf(file, name) || undefined),
    ]),
  );
  const parsed = schema.safeParse(given, { error: wordsFor });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ConfigError(`${String(issue?.path[0])}: ${issue?.message ?? 'is malformed'}`);
  }
  const values = parsed.data;
  if ((values.SVC_TLS_CERT === undefined) !== (values.SVC_TLS_KEY === undefined)) {
    throw new ConfigError('SVC_TLS_CERT and SVC_TLS_KEY: set both or none');
  }
  if (values.SVC_S3_ENDPOINT !== undefined && values.SVC_S3_BUCKET === undefined) {
    throw new ConfigError('SVC_S3_BUCKET: is required with SVC_S3_ENDPOINT');
  }
  if ((values.SVC_S3_ACCESS_KEY_ID === undefined) !== (values.SVC_S3_SECRET_ACCESS_KEY === undefined)) {
    throw new ConfigError('SVC_S3_ACCESS_KEY_ID and SVC_S3_SECRET_ACCESS_KEY: set both or none');
  }
  if (values.SVC_SMTP_URL !== undefined && values.SVC_MAIL_FROM === undefined) {
    throw new ConfigError('SVC_MAIL_FROM: is required with SVC_SMTP_URL');
  }
  if (values.SVC_SIGNUP !== undefined && values.SVC_SMTP_URL === undefined) {
    throw new ConfigError('SVC_SIGNUP: needs mail, which invitations are sent by: set SVC_SMTP_URL');
  }
  return Object.freeze({ ...complete(values), portIsSet: given['SVC_PORT'] !== undefined });
}

const tlsOf = ({ SVC_TLS_CERT: certFile, SVC_TLS_KEY: keyFile }: z.output<typeof schema>) =>
  certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };

const s3AccessOf = (values: z.output<typeof schema>) => ({
  endpoint: values.SVC_S3_ENDPOINT,
  region: values.SVC_S3_REGION,
  accessKeyId: values.SVC_S3_ACCESS_KEY_ID,
  secretAccessKey: values.SVC_S3_SECRET_ACCESS_KEY,
});

const s3Of = (values: z.output<typeof schema>) =>
  values.SVC_S3_BUCKET === undefined ? undefined : { bucket: values.SVC_S3_BUCKET, ...s3AccessOf(values) };

/** Requests a minute. */
const ratesOf = (values: z.output<typeof schema>) => ({
  requests: values.SVC_RATE_REQUESTS,
  account: values.SVC_RATE_ACCOUNT ?? Math.max(2 * values.SVC_RATE_REQUESTS, 1_200_000),
  search: values.SVC_RATE_SEARCH,
  fetch: values.SVC_RATE_FETCH,
});

const mib = 1024 * 1024;
const bodiesOf = (values: z.output<typeof schema>) => ({
  bytes: values.SVC_BODIES_MB * mib,
  bytesOfOne: values.SVC_BODIES_ACCOUNT_MB * mib,
  diskBytes: values.SVC_BODIES_DISK_MB * mib,
});

function complete(values: z.output<typeof schema>) {
  const scheme = values.SVC_TLS_CERT === undefined ? 'http' : 'https';
  /** The port `offset` after the gateway's; 0 if no such port exists. */
  const portAfter = (offset: number): number =>
    values.SVC_PORT === 0 || values.SVC_PORT + offset > 65_535 ? 0 : values.SVC_PORT + offset;
  // Of the loopback's other numbers no name leads there.
  const name = /^127\.(?!0\.0\.1$)[\d.]+$/.test(values.SVC_HOST) ? values.SVC_HOST : 'localhost';
  const baseUrl = values.SVC_BASE_URL ?? `${scheme}://${name}:${values.SVC_PORT}`;
  return {
    port: values.SVC_PORT,
    agent: { seconds: values.SVC_AGENT_SECONDS, costMicroUsd: values.SVC_AGENT_COST_MICRO_USD },
    host: values.SVC_HOST,
    /** Undefined: the place is chosen by `postgres/datadir.ts`. */
    dataDir: values.SVC_DATA_DIR === undefined ? undefined : resolve(values.SVC_DATA_DIR),
    databaseUrl: values.SVC_DATABASE_URL,
    databasePool: values.SVC_DATABASE_POOL ?? Math.min(Math.max(availableParallelism() + 2, leastPool), mostPool),
    databaseDeadline: { statementMs: values.SVC_DATABASE_TIMEOUT_MS },
    natsUrl: values.SVC_NATS_URL,
    s3: s3Of(values),
    /** How buckets are reached, that of blobs and that of backups. */
    s3Access: s3AccessOf(values),
    masterKey: values.SVC_MASTER_KEY,
    /** Undefined until the listener's port is known when `SVC_PORT` is 0. */
    baseUrl,
    /** Unset, links say `localhost`, whatever address the gateway listens on. */
    baseUrlIsSet: values.SVC_BASE_URL !== undefined,
    ownNames: values.SVC_BASE_URL === undefined ? undefined : ownNames(values, baseUrl),
    corsOrigins: values.SVC_CORS_ORIGINS,
    // A proxy that asks at `localhost` comes from either.
    trustedProxies: values.SVC_TRUSTED_PROXIES.flatMap((from) => (from === '127.0.0.1' ? [from, '::1'] : [from])),
    ownerEmail: values.SVC_OWNER_EMAIL,
    ...addressesOf(values, baseUrl),
    relayPeerUrl: values.SVC_RELAY_PEER_URL,
    previewDomain: values.SVC_PREVIEW_DOMAIN,
    previewPort: values.SVC_PREVIEW_PORT ?? portAfter(1),
    sandboxdSocket: values.SVC_SANDBOXD_SOCKET === undefined ? undefined : resolve(values.SVC_SANDBOXD_SOCKET),
    sandboxes: sandboxesOf(values),
    mediaScratchBytes: values.SVC_MEDIA_SCRATCH_BYTES,
    billing: values.SVC_BILLING,
    backup: backupOf(values, s3AccessOf(values)),
    environmentIncludedHours: values.SVC_ENVIRONMENT_INCLUDED_HOURS,
    fetchAllowHosts: values.SVC_FETCH_ALLOW_HOSTS,
    fetchPorts: values.SVC_FETCH_PORTS,
    dnsServers: values.SVC_DNS_SERVERS,
    bodies: bodiesOf(values),
    rates: ratesOf(values),
    quotas: quotasOf(values, { sandbox_memory_mb: values.SVC_SANDBOX_MEMORY_MB * values.SVC_QUOTA_SANDBOXES }),
    ...keptDays(values),
    uploadMaxBytes: values.SVC_UPLOAD_MAX_BYTES,
    transcriptCostMicroUsd: values.SVC_TRANSCRIPT_COST_MICRO_USD,
    dataRegion: values.SVC_DATA_REGION,
    tls: tlsOf(values),
    appScheme: values.SVC_APP_SCHEME,
    providersFile: values.SVC_PROVIDERS,
    mailFrom: values.SVC_MAIL_FROM,
    pushContact: values.SVC_PUSH_CONTACT,
    mail: mailOf(values),
    signUp: values.SVC_SIGNUP,
    grants: grantsOf(values),
    metrics: metricsOf(values, portAfter(2)),
    logLevel: values.SVC_LOG_LEVEL,
  };
}

/** What apps hold that people let in. */
const grantsOf = (values: z.output<typeof schema>) => ({
  graceSeconds: values.SVC_REFRESH_GRACE_S,
  idleSeconds: values.SVC_GRANT_IDLE_DAYS * 86_400,
  mostSeconds: values.SVC_GRANT_MAX_DAYS * 86_400,
});

/** For how long what happened is kept. */
const keptDays = (values: z.output<typeof schema>) => ({
  auditDays: values.SVC_AUDIT_DAYS,
  runDays: values.SVC_RUN_DAYS,
  notificationDays: values.SVC_NOTIFICATION_DAYS,
  usageDays: values.SVC_USAGE_DAYS,
});

/** Undefined: no e-mail is sent. */
const mailOf = ({ SVC_SMTP_URL: smtpUrl, SVC_MAIL_FROM: from }: z.output<typeof schema>) =>
  smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from };

const sandboxesOf = (values: z.output<typeof schema>) => ({
  slots: values.SVC_SANDBOX_SLOTS,
  warm: values.SVC_SANDBOX_WARM,
  memoryMb: values.SVC_SANDBOX_MEMORY_MB,
  cpus: values.SVC_SANDBOX_CPUS,
  workspaceMb: values.SVC_SANDBOX_WORKSPACE_MB,
  imagesDir: values.SVC_SANDBOX_IMAGES === undefined ? undefined : resolve(values.SVC_SANDBOX_IMAGES),
  imagesUrl: values.SVC_SANDBOX_IMAGES_URL,
  imagesKey: values.SVC_SANDBOX_IMAGES_KEY,
  pypiHosts: values.SVC_SANDBOX_PYPI_HOSTS,
  npmHosts: values.SVC_SANDBOX_NPM_HOSTS,
});

const metricsOf = (values: z.output<typeof schema>, usual: number) => ({
  host: values.SVC_METRICS_HOST,
  port: values.SVC_METRICS_PORT ?? usual,
  /** A port that was asked for must be free. */
  required: values.SVC_METRICS_PORT !== undefined,
});

const addressesOf = (values: z.output<typeof schema>, baseUrl: string) => ({
  hubUrl: values.SVC_HUB_URL ?? `${baseUrl}/hub`,
  authUrl: values.SVC_AUTH_URL ?? `${baseUrl}/auth`,
  relayUrl: values.SVC_RELAY_URL ?? `${baseUrl}/relay`,
  resolveUrl: values.SVC_RESOLVE_URL ?? `${baseUrl}/resolve`,
});

/** Names under which the installation is reached, and those that only this machine gives to itself. */
const ownNames = (values: z.output<typeof schema>, baseUrl: string): ReadonlySet<string> => {
  const urls = [baseUrl, ...Object.values(addressesOf(values, baseUrl))];
  const names = ['localhost', ...(values.SVC_HOST_NAMES ?? []), ...urls.map((url) => new URL(url).hostname)];
  return new Set(names.map((name) => name.toLowerCase()));
};

const systemNames =
  /^(?:PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|(?:https?|no|all)_proxy|npm_config_.*|DEBIAN_FRONTEND)$/i;

/** The environment of a child process: where programs are and how the network is reached; no setting, no secret. */
export function systemEnvironment(environment = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => systemNames.test(name)));
}

/** The whole environment, for this process as another user. */
export const processEnvironment = (environment = process.env): NodeJS.ProcessEnv => ({ ...environment });

/** `SVC_*` names in the environment that are no setting: probably a typing slip, worth a warning. */
export function unknownSettings(environment: NodeJS.ProcessEnv = process.env): string[] {
  return Object.keys(environment).filter(
    (name) => /^SVC_(?!TEST_)/.test(name) && !(name in settings) && !secretFiles.has(name) && !clientNames.has(name),
  );
}

/** A setting as people see it. */
interface SettingRow {
  name: SettingName;
  /** `--data-dir` for `SVC_DATA_DIR`; with each the name that its value is given under. */
  flags: { flag: string; gives: SettingName }[];
  description: string;
  default: string;
}

/** Every setting with its flags and the text that explains it. */
export function settingRows(): SettingRow[] {
  return Object.entries(settings).map(([key, type]) => {
    const name = key as keyof typeof settings;
    const own = isSecret(name) && secrets[name] === 'whole' ? [] : [{ flag: flagOf(name), gives: name }];
    const file = isSecret(name) ? [{ flag: `${flagOf(name)}-file`, gives: `${name}_FILE` as const }] : [];
    const value = type instanceof z.ZodDefault ? String(type.def.defaultValue) : '';
    return { name, flags: [...own, ...file], description: type.description ?? '', default: value };
  });
}

/** Socket of the test runner's sandbox node. */
export function testSandboxes(environment = process.env): string | undefined {
  return environment['SVC_TEST_SANDBOXD'];
}

/** Data directory of the test runner's database server; tests never touch another one. */
export function testDataDir(environment = process.env): string | undefined {
  return environment['SVC_TEST_DATA_DIR'];
}
