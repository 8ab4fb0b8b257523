import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { wordsFor } from '@svc/contract';
import { z } from 'zod';
import { ConfigError } from './config.error.ts';
import { flagOf, isSecret, refuseOnCommandLine, type Secret, secretFiles, secrets } from './config.secrets.ts';

export { ConfigError } from './config.error.ts';

const flag = z
  .enum(['on', 'off', 'true', 'false', '1', '0'])
  .transform((value) => value === 'on' || value === 'true' || value === '1');
/** Digits only: `Number` would take an empty text for 0, and `0x50` and `1e3` for what few mean by them. */
const integer = (min: number, max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().int().min(min).max(max));
const port = integer(0, 65_535);
const url = (...protocols: string[]) =>
  z
    .string()
    .refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
      error: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    })
    .transform((value) => value.replace(/\/+$/, ''));
const httpUrl = url('http:', 'https:');
const perMinute = integer(1, 100_000_000);
const quota = integer(0, 1_000_000_000);
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

/**
 * Every setting (launch contract, Settings). The description of each is its row in `docs/settings.md`; the flag of
 * `SVC_DATA_DIR` is `--data-dir`, and so on.
 */
const settings = {
  SVC_PORT: port.default(8787).describe('port the gateway listens on; 0 picks a free one'),
  SVC_HOST: z.string().min(1).default('127.0.0.1').describe('address the gateway listens on'),
  SVC_DATA_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      'embedded database, blobs, generated secrets (0600); default `./.svc`, or `/var/lib/svc` as root where the database user cannot enter the clone',
    ),
  SVC_DATABASE_URL: url('postgres:', 'postgresql:')
    .optional()
    .describe('a Postgres 15 or newer; default: the embedded Postgres 18 in the data dir'),
  SVC_DATABASE_TIMEOUT_MS: integer(100, 3_600_000)
    .default(5_000)
    .describe('milliseconds that a statement of a request may take; past it: 503 `unavailable`'),
  SVC_NATS_URL: url('nats:', 'tls:', 'ws:', 'wss:')
    .optional()
    .describe('NATS server as the bus between gateways; default: Postgres LISTEN/NOTIFY'),
  SVC_S3_ENDPOINT: httpUrl.optional().describe('S3 endpoint for blobs; default: files in the data dir'),
  SVC_S3_BUCKET: z.string().min(3).max(63).optional().describe('bucket for blobs; turns S3 on'),
  SVC_S3_REGION: z.string().min(1).default('us-east-1').describe('region of the bucket'),
  SVC_S3_ACCESS_KEY_ID: z.string().min(1).optional().describe('S3 access key; default: the AWS credential chain'),
  SVC_S3_SECRET_ACCESS_KEY: z.string().min(1).optional().describe('S3 secret key'),
  SVC_MASTER_KEY: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .describe('seals secrets, peppers key hashes, signs links; default: generated into the data dir'),
  SVC_OWNER_EMAIL: z
    .string()
    .max(254)
    .regex(/^[^\s@]+@[^\s@]+$/, 'must be an e-mail address')
    .default('owner@localhost')
    .describe('address of the account that the first start makes; later: `svc accounts set --new-email`'),
  SVC_BASE_URL: httpUrl.optional().describe('`{base_url}`; default `http://127.0.0.1:<port>`'),
  SVC_HUB_URL: httpUrl
    .optional()
    .describe('`{hub_url}`, the web app: notifications link to it beside the app; default `{base_url}/hub`'),
  SVC_AUTH_URL: httpUrl.optional().describe('`{auth_url}`; default `{base_url}/auth`'),
  SVC_RELAY_URL: httpUrl.optional().describe('`{relay_url}`; default `{base_url}/relay`'),
  SVC_RESOLVE_URL: httpUrl.optional().describe('`{resolve_url}`; default `{base_url}/resolve`'),
  SVC_PREVIEW_DOMAIN: z
    .string()
    .min(1)
    .optional()
    .describe('`{preview_domain}`, with wildcard DNS and TLS in front; previews for other machines need it'),
  SVC_PREVIEW_PORT: port.optional().describe('port of the listener for previews; default port + 1'),
  SVC_SANDBOXD_SOCKET: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('socket of a sandbox node that runs by itself; default: `svc up` starts one in the data dir'),
  SVC_SANDBOX_SLOTS: integer(1, 10_000)
    .optional()
    .describe('sandboxes that may run on this machine at once; default: one for each 1.5 GiB of memory'),
  SVC_SANDBOX_WARM: integer(0, 100)
    .default(2)
    .describe('restored v2 sandboxes of `svc-base` that wait for their first user; 60 MiB each'),
  SVC_SANDBOX_IMAGES: z
    .string()
    .min(1)
    .optional()
    .describe('where root file systems of sandboxes are kept; default: in the data dir'),
  SVC_SANDBOX_PYPI_HOSTS: list
    .default(['pypi.org', 'files.pythonhosted.org'])
    .describe('what the egress preset `pypi` reaches'),
  SVC_SANDBOX_NPM_HOSTS: list
    .optional()
    .describe("what the egress preset `npm` reaches; default: the registry of npm's configuration on this machine"),
  SVC_BILLING: flag.default(false).describe('charges wallets: on or off'),
  SVC_FETCH_ALLOW_HOSTS: list.default([]).describe('private hosts that fetch, search and egress may reach'),
  SVC_FETCH_PORTS: list
    .pipe(z.array(port))
    .default([80, 443])
    .describe('ports that fetch, search and egress may reach'),
  SVC_RATE_REQUESTS: perMinute.default(600_000).describe('requests a key may make per minute, over all gateways'),
  SVC_RATE_SEARCH: perMinute.default(30).describe('searches a key may make per minute'),
  SVC_RATE_FETCH: perMinute.default(60).describe('fetches a key may make per minute'),
  SVC_QUOTA_KEYS: quota.default(1_000).describe('API keys an account may have, revoked ones aside'),
  SVC_QUOTA_DEVICES: quota.default(10_000).describe('devices an account may have'),
  SVC_QUOTA_SCHEDULES: quota.default(20_000).describe('schedules an account may have'),
  SVC_QUOTA_HEARTBEATS: quota.default(10_000).describe('monitors an account may have'),
  SVC_DATA_REGION: z.string().min(1).max(64).default('eu-local').describe('value of `x-svc-data-region`'),
  SVC_TLS_CERT: z.string().min(1).optional().describe('PEM certificate chain; with SVC_TLS_KEY serves HTTPS directly'),
  SVC_TLS_KEY: z.string().min(1).optional().describe('PEM private key of SVC_TLS_CERT'),
  SVC_APP_SCHEME: z
    .string()
    .regex(/^[a-z][a-z0-9+.-]*$/, 'must be a URL scheme')
    .default('svc')
    .describe('`<app_scheme>` of deep links'),
  SVC_PROVIDERS: z.string().min(1).optional().describe('path of the JSON file of providers'),
  SVC_SMTP_URL: url('smtp:', 'smtps:')
    .optional()
    .describe('mail server, `smtp://user:password@host:587`; turns e-mail on. A secret'),
  SVC_MAIL_FROM: z
    .string()
    .max(200)
    .regex(/^(?:[^<>\r\n]*<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/, 'must be `address` or `Name <address>`')
    .optional()
    .describe('sender of e-mail, `Name <address>`, and whom push services may write to; required with SVC_SMTP_URL'),
  SVC_METRICS_PORT: port
    .optional()
    .describe(
      'port of the listener for Prometheus and probes (`/metrics`, `/health`, `/health/ready`); default port + 2 when it is free, 0 is off',
    ),
  SVC_METRICS_HOST: z.string().min(1).default('127.0.0.1').describe('address of that listener'),
  SVC_LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('pino'),
} satisfies Record<`SVC_${string}`, z.ZodType>;

/** Names that belong to clients and may be in the same environment. */
const clientNames = new Set(['SVC_API_KEY']);
const schema = z.object(settings);

/** Validated, frozen settings with every default that depends on another setting filled in. */
export type Config = Readonly<ReturnType<typeof complete>>;
export type SettingName = keyof typeof settings | `${Secret}_FILE`;
/** What a command line, an environment or a settings file says. */
export type Given = Readonly<Partial<Record<SettingName, string>>>;

/** A setting of one source: itself, or what is in the file that it names. */
function valueOf(given: Given, name: keyof typeof settings): string | undefined {
  const file = isSecret(name) ? given[`${name}_FILE`] : undefined;
  if (given[name] !== undefined || !file) return given[name];
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(`${name}_FILE: cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}

/** What says where the data dir is, and with it the settings file: read before all other settings. */
export function loadPlace(flags: Given, environment = process.env): Pick<Config, 'dataDir' | 'databaseUrl'> {
  const names = ['SVC_DATA_DIR', 'SVC_DATABASE_URL', 'SVC_DATABASE_URL_FILE'] as const;
  const of = (given: Given): Given => Object.fromEntries(names.map((name) => [name, given[name]]));
  return loadConfig(of(flags), of(environment));
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
  return Object.freeze(complete(values));
}

const s3Of = (values: z.output<typeof schema>) =>
  values.SVC_S3_BUCKET === undefined
    ? undefined
    : {
        endpoint: values.SVC_S3_ENDPOINT,
        bucket: values.SVC_S3_BUCKET,
        region: values.SVC_S3_REGION,
        accessKeyId: values.SVC_S3_ACCESS_KEY_ID,
        secretAccessKey: values.SVC_S3_SECRET_ACCESS_KEY,
      };

/** What an account may have unless it has limits of its own. */
const quotasOf = (values: z.output<typeof schema>) => ({
  keys: values.SVC_QUOTA_KEYS,
  devices: values.SVC_QUOTA_DEVICES,
  schedules: values.SVC_QUOTA_SCHEDULES,
  heartbeats: values.SVC_QUOTA_HEARTBEATS,
});

function complete(values: z.output<typeof schema>) {
  const scheme = values.SVC_TLS_CERT === undefined ? 'http' : 'https';
  /** The port `offset` after the gateway's; 0 where there is none. */
  const portAfter = (offset: number): number =>
    values.SVC_PORT === 0 || values.SVC_PORT + offset > 65_535 ? 0 : values.SVC_PORT + offset;
  const baseUrl = values.SVC_BASE_URL ?? `${scheme}://127.0.0.1:${values.SVC_PORT}`;
  return {
    port: values.SVC_PORT,
    host: values.SVC_HOST,
    /** Undefined: the place is chosen by `postgres/datadir.ts`. */
    dataDir: values.SVC_DATA_DIR === undefined ? undefined : resolve(values.SVC_DATA_DIR),
    databaseUrl: values.SVC_DATABASE_URL,
    databaseDeadline: { statementMs: values.SVC_DATABASE_TIMEOUT_MS },
    natsUrl: values.SVC_NATS_URL,
    s3: s3Of(values),
    masterKey: values.SVC_MASTER_KEY,
    /** Undefined until the listener's port is known when `SVC_PORT` is 0. */
    baseUrl,
    /** Unset, links say 127.0.0.1, whatever address the gateway listens on. */
    baseUrlIsSet: values.SVC_BASE_URL !== undefined,
    ownerEmail: values.SVC_OWNER_EMAIL,
    /** Undefined without a web app: its links lead nowhere then. */
    webUrl: values.SVC_HUB_URL,
    ...addressesOf(values, baseUrl),
    previewDomain: values.SVC_PREVIEW_DOMAIN,
    previewPort: values.SVC_PREVIEW_PORT ?? portAfter(1),
    sandboxdSocket: values.SVC_SANDBOXD_SOCKET === undefined ? undefined : resolve(values.SVC_SANDBOXD_SOCKET),
    sandboxes: {
      slots: values.SVC_SANDBOX_SLOTS,
      warm: values.SVC_SANDBOX_WARM,
      imagesDir: values.SVC_SANDBOX_IMAGES === undefined ? undefined : resolve(values.SVC_SANDBOX_IMAGES),
      pypiHosts: values.SVC_SANDBOX_PYPI_HOSTS,
      npmHosts: values.SVC_SANDBOX_NPM_HOSTS,
    },
    billing: values.SVC_BILLING,
    fetchAllowHosts: values.SVC_FETCH_ALLOW_HOSTS,
    fetchPorts: values.SVC_FETCH_PORTS,
    rates: { requests: values.SVC_RATE_REQUESTS, search: values.SVC_RATE_SEARCH, fetch: values.SVC_RATE_FETCH },
    quotas: quotasOf(values),
    dataRegion: values.SVC_DATA_REGION,
    tls:
      values.SVC_TLS_CERT === undefined || values.SVC_TLS_KEY === undefined
        ? undefined
        : { certFile: values.SVC_TLS_CERT, keyFile: values.SVC_TLS_KEY },
    appScheme: values.SVC_APP_SCHEME,
    providersFile: values.SVC_PROVIDERS,
    mailFrom: values.SVC_MAIL_FROM,
    /** Undefined: no e-mail is sent. */
    mail:
      values.SVC_SMTP_URL === undefined || values.SVC_MAIL_FROM === undefined
        ? undefined
        : { smtpUrl: values.SVC_SMTP_URL, from: values.SVC_MAIL_FROM },
    metrics: metricsOf(values, portAfter(2)),
    logLevel: values.SVC_LOG_LEVEL,
  };
}

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

const systemNames =
  /^(?:PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|NODE_EXTRA_CA_CERTS|(?:https?|no|all)_proxy|npm_config_.*|DEBIAN_FRONTEND)$/i;

/** What a child process needs of the environment: where programs are and how the network is reached; no setting, no secret. */
export function systemEnvironment(environment = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => systemNames.test(name)));
}

/** `SVC_*` names in the environment that are no setting: probably a typing slip, worth a warning. */
export function unknownSettings(environment: NodeJS.ProcessEnv = process.env): string[] {
  return Object.keys(environment).filter(
    (name) => /^SVC_(?!TEST_)/.test(name) && !(name in settings) && !secretFiles.has(name) && !clientNames.has(name),
  );
}

/** What a person may know of a setting. */
export interface SettingRow {
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
