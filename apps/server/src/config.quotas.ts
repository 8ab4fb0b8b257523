import { integer } from './config.fields.ts';

const quota = integer(0, 1_000_000_000);
const byteQuota = integer(0, 2 ** 50);

/** The things of which an account has a bounded number: a setting `SVC_QUOTA_<NAME>` each, with the limit of the installation. */
const quotas = {
  keys: quota.default(1_000).describe('API keys an account may have, revoked ones aside'),
  logins: quota
    .default(50)
    .describe('signed-in browsers an account may have; one more signs out the one that was not seen for longest'),
  passkeys: quota.default(20).describe('passkeys an account may have'),
  devices: quota.default(10_000).describe('devices an account may have'),
  schedules: quota.default(20_000).describe('schedules an account may have'),
  schedule_bytes: quota
    .default(64 * 2 ** 20)
    .describe("bytes that the specs of an account's schedules may take, as they are stored"),
  slots_per_minute: quota
    .default(1_200)
    .describe('runs a minute that the timetables of an account may ask for, all enabled schedules together'),
  heartbeats: quota.default(10_000).describe('monitors an account may have'),
  webhooks: quota.default(20).describe('webhooks for notifications an account may have'),
  run_log_bytes: quota
    .default(512 * 2 ** 20)
    .describe("bytes that the logs of an account's scheduled runs may take; each is kept for 30 days"),
  execs: quota
    .default(10_000)
    .describe('commands that hosts do by themselves which an account may have; each is kept for 30 days'),
  exec_bytes: quota
    .default(512 * 2 ** 20)
    .describe("bytes that an account's commands of this kind may take, with their output and results"),
  sessions: quota.default(10_000).describe('shared sessions an account may have'),
  session_bytes: quota
    .default(512 * 2 ** 20)
    .describe("bytes that events and controls of an account's sessions may take, each session in blocks of 16 KiB"),
  prompts: quota.default(20_000).describe('prompts an account may keep, closed ones among them'),
  prompt_bytes: quota.default(512 * 2 ** 20).describe("bytes that the texts of an account's prompts may take"),
  uploads: quota.default(100).describe('uploads an account may have that no transcript has taken'),
  upload_bytes: byteQuota
    .default(8 * 2 ** 30)
    .describe('bytes that such uploads may have together, by the lengths that they were begun with'),
  transcripts: quota.default(20_000).describe('transcripts an account may have'),
  transcript_bytes: byteQuota.default(2 ** 30).describe("bytes that the texts of an account's transcripts may take"),
  audio_bytes: byteQuota.default(50 * 2 ** 30).describe('bytes of audio an account may have'),
  transcript_shares: quota.default(1_000).describe('active share links an account may have'),
  transcript_folders: quota.default(1_000).describe('folders of transcripts an account may have'),
  projects: quota.default(200).describe('projects an account may have'),
  connections: quota.default(200).describe('apps that an account may have let in'),
  environments: quota.default(500).describe('environments an account may have, destroyed ones aside'),
  recording_ms: quota
    .default(72_000_000)
    .describe('milliseconds of recordings an account may have transcribed in a calendar month (UTC)'),
  sandboxes: quota.default(10).describe('sandboxes an account may run at once, all keys together'),
  sandboxes_v2: quota
    .default(5)
    .describe('v2 sandboxes among them, those that fork aside: `sandboxes_of_forks` bounds these'),
  sandboxes_of_key: quota.default(3).describe('sandboxes that one key of an account may run at once'),
  sandboxes_of_forks: quota.default(6).describe('sandboxes that one key may run at once by forking'),
  sandboxes_paused: quota.default(10).describe('paused sandboxes an account may have'),
  sandbox_seconds: quota
    .default(7_200)
    .describe('seconds of a day (UTC) that commands in the sandboxes of an account may take'),
  sandbox_memory_mb: quota
    .optional()
    .describe(
      "MiB that an account's running sandboxes may have together; default: `SVC_QUOTA_SANDBOXES` times " +
        '`SVC_SANDBOX_MEMORY_MB`, which an account with a higher `sandboxes` of its own does not raise',
    ),
};

/** Names of what is counted. */
export type QuotaName = keyof typeof quotas;
/** All of them. */
export const quotaNames = Object.keys(quotas) as QuotaName[];

type QuotaSettings = { [N in QuotaName as `SVC_QUOTA_${Uppercase<N>}`]: (typeof quotas)[N] };
const settingOf = (name: QuotaName) => `SVC_QUOTA_${name.toUpperCase()}` as keyof QuotaSettings;

/** The settings of all quotas. */
export const quotaSettings = Object.fromEntries(
  quotaNames.map((name) => [settingOf(name), quotas[name]]),
) as QuotaSettings;

/** Limits of an account without limits of its own. */
export const quotasOf = (
  values: Readonly<Partial<Record<keyof QuotaSettings, number | undefined>>>,
  derived: Readonly<Partial<Record<QuotaName, number>>>,
): Readonly<Record<QuotaName, number>> =>
  Object.fromEntries(quotaNames.map((name) => [name, values[settingOf(name)] ?? derived[name]])) as Record<
    QuotaName,
    number
  >;
