import { isIP } from 'node:net';
import { z } from 'zod';
import { backupSettings } from './config.backup.ts';
import { integer, withoutUser } from './config.fields.ts';
import { quotaSettings } from './config.quotas.ts';
import { namesServers } from './config.servers.ts';

const flag = z
  .enum(['on', 'off', 'true', 'false', '1', '0'])
  .transform((value) => value === 'on' || value === 'true' || value === '1');
const port = integer(0, 65_535);
const url = (...protocols: string[]) =>
  z
    .string()
    .refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
      error: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    })
    .transform((value) => value.replace(/\/+$/, ''));
const httpUrl = url('http:', 'https:');
/** Uploads' `Location`, the hub, the docs and what tells apps how to sign in stand at the root of an address. */
const rootUrl = httpUrl.refine((value) => !URL.canParse(value) || new URL(value).href === `${new URL(value).origin}/`, {
  error: 'must be an address without a path, such as https://svc.example.com: give svc a name of its own at the proxy',
});
/** One server, or several of which one takes writes: `postgres://svc@one,two:5433/svc`. */
const databaseUrl = z
  .string()
  .refine((value) => /^postgres(?:ql)?:\/\//.test(value) && namesServers(value), {
    error: 'must be a URL that starts with postgres:// or postgresql://',
  })
  .transform((value) => value.replace(/\/+$/, ''));
const perMinute = integer(1, 100_000_000);
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
/** An address, or a network such as 10.0.0.0/8. Zero bits would trust everybody. */
function isNetwork(value: string): boolean {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(value) ?? [];
  const most = { 4: 32, 6: 128 }[isIP(address)] ?? 0;
  return most > 0 && !address.includes('%') && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= most));
}
/** As browsers send it; the one of a page that was opened from an app has another scheme. */
const isOrigin = (value: string): boolean =>
  /^https?:/.test(value)
    ? URL.canParse(value) && new URL(value).origin === value
    : /^[a-z][a-z0-9+.-]*:\/\/[\w.:-]+$/.test(value);

/**
 * Every setting (launch contract, Settings). The description of each is its row in `docs/settings.md`; the flag of
 * `SVC_DATA_DIR` is `--data-dir`, and so on.
 */
export const settings = {
  SVC_PORT: port.default(8787).describe('port the gateway listens on; 0 picks a free one'),
  SVC_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe(
      'address the gateway listens on; `127.0.0.1` and `localhost` are both 127.0.0.1 and ::1, and `0.0.0.0` takes ::1 too',
    ),
  SVC_DATA_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      'embedded database, blobs, generated secrets (0600); default `./.svc`, or `/var/lib/svc` as root where the database user cannot enter the clone',
    ),
  SVC_DATABASE_URL: databaseUrl
    .optional()
    .describe(
      'a Postgres 15 or newer, or several servers of it (`postgres://svc@one,two/svc`) of which the one that takes writes is used; default: the embedded Postgres 18 in the data dir',
    ),
  SVC_DATABASE_TIMEOUT_MS: integer(100, 3_600_000)
    .default(5_000)
    .describe('milliseconds that a statement of a request may take; past it: 503 `unavailable`'),
  SVC_DATABASE_POOL: integer(2, 100)
    .optional()
    .describe(
      'connections for requests, of each process, of which an account has all but one; one more is for what is asked beside a ' +
        'transaction, two for work in the background; default cores + 2, from 4 to 10',
    ),
  SVC_NATS_URL: url('nats:', 'tls:', 'ws:', 'wss:')
    .optional()
    .describe('NATS server as the bus between gateways; default: Postgres LISTEN/NOTIFY'),
  SVC_S3_ENDPOINT: withoutUser(httpUrl, 'SVC_S3_…')
    .optional()
    .describe('S3 endpoint for blobs; default: files in the data dir'),
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
  SVC_BASE_URL: rootUrl.optional().describe('`{base_url}`; default `http://localhost:<port>`'),
  SVC_HOST_NAMES: list
    .optional()
    .describe(
      'further names of this installation, comma-separated; with SVC_BASE_URL set a request to any other name gets 421 ' +
        '(addresses and localhost are taken)',
    ),
  SVC_CORS_ORIGINS: list
    .refine((origins) => origins.every(isOrigin), {
      error: 'must be origins such as https://app.example.com or http://localhost:3000, without a path; * is not taken',
    })
    .default([])
    .describe(
      'comma-separated origins whose pages may call the API with a bearer key (CORS), such as `https://app.example.com`; ' +
        'cookies never count',
    ),
  SVC_TRUSTED_PROXIES: list
    .refine((networks) => networks.every(isNetwork), {
      error: 'must be addresses or networks such as 127.0.0.1 or 10.0.0.0/8, comma-separated',
    })
    .default([])
    .describe(
      'comma-separated addresses or networks of the proxies in front: of a request from there the last address in ' +
        '`X-Forwarded-For` that is none of them is counted and written down; without it everybody behind a proxy is one network',
    ),
  SVC_HUB_URL: httpUrl
    .optional()
    .describe(
      '`{hub_url}`, the hub: notifications link to its pages beside those of the app; default `{base_url}/hub`',
    ),
  SVC_AUTH_URL: httpUrl.optional().describe('`{auth_url}`; default `{base_url}/auth`'),
  SVC_RELAY_URL: httpUrl
    .refine((url) => !/[:*{}]/.test(new URL(url).pathname), 'must have a path without the signs : * { }')
    .optional()
    .describe('`{relay_url}`, where relays are reached; default `{base_url}/relay`'),
  SVC_RELAY_PEER_URL: httpUrl
    .optional()
    .describe('where other relays reach this process; default: the address at which a daemon reached it'),
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
    .describe(
      'sandboxes that may run on this machine at once; default: of its memory (or what a control group above them allows) 1 GiB stays ' +
        'free, and each takes 512 MiB more than `SVC_SANDBOX_MEMORY_MB`: two at least, and one below 1.75 GiB',
    ),
  SVC_SANDBOX_MEMORY_MB: integer(256, 1_048_576)
    .default(1024)
    .describe('memory of user code in one sandbox, MiB; paused ones keep what they were started with'),
  SVC_SANDBOX_CPUS: integer(1, 256).default(1).describe('cores of one sandbox'),
  SVC_SANDBOX_WORKSPACE_MB: integer(64, 1_048_576).default(2048).describe('size of one workspace, MiB'),
  SVC_SANDBOX_WARM: integer(0, 100)
    .optional()
    .describe(
      'restored v2 sandboxes of `svc-base` that wait for their first user; default: 2, and none below 1.75 GiB of memory; ' +
        '110 MiB each',
    ),
  SVC_SANDBOX_IMAGES: z
    .string()
    .min(1)
    .optional()
    .describe('where root file systems of sandboxes are kept; default: in the data dir'),
  SVC_SANDBOX_IMAGES_URL: httpUrl
    .optional()
    .describe(
      'folder that `svc images fetch` takes root file systems from, as `svc images export --to-folder` fills it',
    ),
  SVC_SANDBOX_IMAGES_KEY: z
    .string()
    .regex(/^ed25519:[A-Za-z0-9_-]{43}$/, 'must be a public key as svc images new-key prints it')
    .optional()
    .describe('public key that fetched root file systems must be signed with, as `svc images new-key` prints it'),
  SVC_SANDBOX_PYPI_HOSTS: list
    .default(['pypi.org', 'files.pythonhosted.org'])
    .describe('what the egress preset `pypi` reaches'),
  SVC_SANDBOX_NPM_HOSTS: list
    .optional()
    .describe("what the egress preset `npm` reaches; default: the registry of npm's configuration on this machine"),
  SVC_MEDIA_SCRATCH_BYTES: integer(1_048_576, 1_099_511_627_776)
    .default(8_589_934_592)
    .describe('files of recordings that are under work, in the data dir, bytes; past it a step waits'),
  SVC_AGENT_SECONDS: integer(1, 86_400)
    .default(900)
    .describe(
      'longest answer in which a model uses tools of the server, seconds; runs of a schedule have a time of their own',
    ),
  SVC_AGENT_COST_MICRO_USD: integer(0, 1_000_000_000)
    .default(5_000_000)
    .describe('spend after which such an answer, or a run of an agent, asks the model no more, micro-USD'),
  SVC_BILLING: flag.default(false).describe('charges wallets: on or off'),
  SVC_ENVIRONMENT_INCLUDED_HOURS: integer(0, 744)
    .default(0)
    .describe('hours a month in which each environment at a provider costs nothing'),
  SVC_FETCH_ALLOW_HOSTS: list.default([]).describe('private hosts that fetch, search and egress may reach'),
  SVC_FETCH_PORTS: list
    .pipe(z.array(port))
    .default([80, 443])
    .describe('ports that fetch, search and egress may reach'),
  SVC_DNS_SERVERS: list
    .refine((servers) => servers.every((server) => /^(?:[\d.]+|\[[\da-f:]+\])(?::\d{1,5})?$/i.test(server)), {
      error: 'must be addresses of name servers, such as 9.9.9.9 or 127.0.0.1:5353',
    })
    .default([])
    .describe("name servers that are asked for hosts of callers' addresses; default: the machine's"),
  SVC_BODIES_MB: integer(32, 65_536)
    .default(72)
    .describe('bodies of requests that are held in memory at once, MiB; each costs about three times its size'),
  SVC_BODIES_ACCOUNT_MB: integer(16, 65_536)
    .default(16)
    .describe('of them, those of one account, forms aside, MiB; further large ones wait for 10 s, then they get 429'),
  SVC_BODIES_DISK_MB: integer(0, 1_048_576)
    .default(1024)
    .describe('bodies that wait on disk while a model works on them, MiB; a quarter of it for one account'),
  SVC_RATE_REQUESTS: perMinute.default(600_000).describe('requests a key may make per minute, over all gateways'),
  SVC_RATE_ACCOUNT: perMinute
    .optional()
    .describe(
      'requests that all keys of an account may make per minute together, over all gateways; if unset twice those of one ' +
        'key, 1200000 at least',
    ),
  SVC_RATE_SEARCH: perMinute.default(30).describe('searches a key may make per minute'),
  SVC_RATE_FETCH: perMinute.default(60).describe('fetches a key may make per minute'),
  ...quotaSettings,
  ...backupSettings,
  SVC_AUDIT_DAYS: integer(1, 36_500).default(400).describe('days that lines of the audit log are kept'),
  SVC_UPLOAD_MAX_BYTES: integer(1, 2 ** 40)
    .default(2 * 2 ** 30)
    .describe('bytes of one upload at most; 3 hours of 48 kHz stereo PCM are 2.07 GB'),
  SVC_TRANSCRIPT_COST_MICRO_USD: integer(0, 1_000_000_000_000)
    .default(2_000_000)
    .describe('what models may cost for one recording, micro-USD; past it its insights are marked as degraded'),
  SVC_RUN_DAYS: integer(1, 36_500).default(90).describe('days that runs of schedules are kept once they are over'),
  SVC_NOTIFICATION_DAYS: integer(1, 36_500).default(90).describe('days that notifications are kept'),
  SVC_USAGE_DAYS: integer(1, 36_500).default(90).describe('days that records of requests are kept; by whole months'),
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
  SVC_SIGNUP: z
    .string()
    .regex(
      /^(?:off|(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,63})$/i,
      'must be off, or a mail domain such as example.com',
    )
    .transform((value) => (value === 'off' ? undefined : value.toLowerCase()))
    .optional()
    .describe(
      'a mail domain, such as `example.com`, whose people may ask for an invitation by mail; needs SVC_SMTP_URL; default: off',
    ),
  SVC_REFRESH_GRACE_S: integer(0, 3_600)
    .default(120)
    .describe(
      'seconds in which an app that uses a refresh token or a device code again gets the same answer again; 0: a second use ' +
        'ends what was given',
    ),
  SVC_GRANT_IDLE_DAYS: integer(1, 3_650)
    .default(90)
    .describe('days after its last refresh that an app that a person let in is signed out'),
  SVC_GRANT_MAX_DAYS: integer(1, 3_650)
    .default(730)
    .describe('days after which a person is asked again about an app, however much it is used'),
  SVC_MAIL_FROM: z
    .string()
    .max(200)
    .regex(/^(?:[^<>\r\n]*<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/, 'must be `address` or `Name <address>`')
    .optional()
    .describe('sender of e-mail, `Name <address>`; required with SVC_SMTP_URL'),
  SVC_PUSH_CONTACT: z
    .string()
    .max(200)
    .regex(/^(?:mailto:[^\s<>@,;]+@[^\s<>@,;]+|https:\/\/\S+)$/, 'must be `mailto:` and an address, or an https URL')
    .optional()
    .describe(
      'whom push services may write to, `mailto:…` or an https URL; default the sender of e-mail, this address, or that of who ' +
        'set the platform up, where they are no local name: Apple takes no push without one',
    ),
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
