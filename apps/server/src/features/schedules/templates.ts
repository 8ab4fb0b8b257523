import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { defaultZone } from './schedules.rules.ts';

export const templates = operation(contract.schedules.templates, () => {
  const listed = readyMade.map(({ id, name, description, params, build }) => ({
    id,
    name,
    description,
    params,
    schedule: { ...build(Object.fromEntries(params.map((param) => [param.name, param.default ?? `<${param.name}>`]))) },
  }));
  return Promise.resolve({ templates: listed });
});

/** A blank of a template. Without a default it must be given. */
interface Param {
  name: string;
  description: string;
  required: boolean;
  default?: string;
}

/** A ready-made schedule. */
interface Template {
  id: string;
  name: string;
  description: string;
  params: Param[];
  /** The schedule as a client would send it. */
  build: (values: Readonly<Record<string, string>>) => Record<string, unknown>;
}

const needed = (name: string, description: string): Param => ({ name, description, required: true });
const preset = (name: string, description: string, value: string): Param => ({
  name,
  description,
  required: false,
  default: value,
});
const zone = preset('tz', 'IANA time zone', defaultZone);
const cron = (expr: string, values: Readonly<Record<string, string>>) => ({ type: 'cron', expr, tz: values['tz'] });
/** A value as one word of a shell command, whatever it holds. */
const word = (value: string | undefined): string => `'${(value ?? '').replaceAll("'", "'\\''")}'`;

/** Ready-made schedules (document 2, templates). */
export const readyMade: readonly Template[] = [
  {
    id: 'weekly-transcripts-digest',
    name: 'Weekly transcripts digest',
    description: 'Sums up the week’s meetings and sends the digest by e-mail every Friday at 17:00.',
    params: [zone],
    build: (values) => ({
      name: 'Weekly transcripts digest',
      kind: 'agent',
      spec: {
        prompt:
          'Read the transcripts of this week’s meetings. Write a digest: decisions, open questions, and who does what until when. Send it to me by e-mail.',
        skill: 'transcripts-digest',
        permissions: ['read'],
      },
      trigger: cron('0 17 * * 5', values),
      target: { type: 'cloud' },
    }),
  },
  {
    id: 'daily-briefing',
    name: 'Daily briefing',
    description: 'An agent prepares the day on working days at 08:00.',
    params: [zone],
    build: (values) => ({
      name: 'Daily briefing',
      kind: 'agent',
      spec: { prompt: 'Prepare a short briefing for today: meetings, deadlines, what is open since yesterday.' },
      trigger: cron('0 8 * * 1-5', values),
      policy: { skip_days: { holidays: 'RO' } },
    }),
  },
  {
    id: 'nightly-backup',
    name: 'Nightly backup',
    description: 'Archives a folder at 02:00; tries twice more when it fails.',
    params: [needed('source', 'folder to archive'), needed('destination', 'folder for the archives'), zone],
    build: (values) => ({
      name: 'Nightly backup',
      kind: 'shell',
      spec: {
        command: `tar -czf ${word(values['destination'])}/backup-$(date +%F).tar.gz -C ${word(values['source'])} .`,
        shell: 'sh',
      },
      trigger: cron('0 2 * * *', values),
      retries: 2,
      retry_backoff_s: 600,
      alert_on_fail: true,
    }),
  },
  {
    id: 'disk-space',
    name: 'Disk space',
    description: 'Fails, and so alerts, when a file system is fuller than 90 %. Every hour.',
    params: [preset('path', 'a path on the file system', '/'), zone],
    build: (values) => ({
      name: 'Disk space',
      kind: 'shell',
      spec: {
        command: `test "$(df -P ${word(values['path'])} | awk 'NR==2 { sub("%", "", $5); print $5 }')" -le 90`,
        shell: 'sh',
      },
      trigger: cron('7 * * * *', values),
      timeout_s: 60,
      alert_on_fail: true,
    }),
  },
  {
    id: 'website-check',
    name: 'Website check',
    description: 'Asks for a page every five minutes and alerts when it does not answer 200.',
    params: [needed('url', 'https address of the page')],
    build: (values) => ({
      name: 'Website check',
      kind: 'http',
      spec: { method: 'GET', url: values['url'], expect_status: 200 },
      trigger: { type: 'interval', every_s: 300 },
      retries: 1,
      retry_backoff_s: 30,
      alert_on_fail: true,
      policy: { pause_after_failures: 0 },
    }),
  },
  {
    id: 'certificate-check',
    name: 'Certificate check',
    description: 'Alerts on Mondays when a TLS certificate ends within 14 days.',
    params: [needed('host', 'name of the server'), zone],
    build: (values) => ({
      name: 'Certificate check',
      kind: 'shell',
      spec: {
        command: `openssl s_client -connect ${word(`${values['host']}:443`)} -servername ${word(values['host'])} </dev/null 2>/dev/null | openssl x509 -noout -checkend 1209600`,
        shell: 'sh',
      },
      trigger: cron('0 9 * * 1', values),
      timeout_s: 60,
      alert_on_fail: true,
    }),
  },
  {
    id: 'dependency-updates',
    name: 'Dependency updates',
    description: 'An agent updates the dependencies of a repository on Mondays and opens a pull request.',
    params: [needed('repository', 'folder or address of the repository'), zone],
    build: (values) => ({
      name: 'Dependency updates',
      kind: 'agent',
      spec: {
        prompt: `Update the dependencies of ${values['repository']}, run its tests, and open a pull request that says what changed.`,
        permissions: ['read', 'edit', 'pr'],
      },
      trigger: cron('0 6 * * 1', values),
      policy: { approval: 'always' },
    }),
  },
  {
    id: 'review-changes',
    name: 'Review of open changes',
    description: 'An agent reads the open pull requests of a repository on working days at 09:30.',
    params: [needed('repository', 'folder or address of the repository'), zone],
    build: (values) => ({
      name: 'Review of open changes',
      kind: 'agent',
      spec: { prompt: `Review the open pull requests of ${values['repository']}.`, permissions: ['read'] },
      trigger: cron('30 9 * * 1-5', values),
      policy: { skip_days: { holidays: 'RO' } },
    }),
  },
  {
    id: 'do-not-disturb',
    name: 'Do not disturb at night',
    description: 'Switches Do Not Disturb on at 22:00 on one phone.',
    params: [needed('device_id', 'device id of the phone'), zone],
    build: (values) => ({
      name: 'Do not disturb at night',
      kind: 'phone_action',
      spec: { action: 'dnd', params: { on: true } },
      trigger: cron('0 22 * * *', values),
      target: { type: 'host', device_id: values['device_id'] },
      misfire: 'skip',
    }),
  },
  {
    id: 'month-end-reminder',
    name: 'Month-end reminder',
    description: 'A notification on one phone on the last day of each month at 16:00.',
    params: [
      needed('device_id', 'device id of the phone'),
      preset('text', 'what to be reminded of', 'Month end'),
      zone,
    ],
    build: (values) => ({
      name: 'Month-end reminder',
      kind: 'phone_action',
      spec: { action: 'notify', params: { title: values['text'] } },
      trigger: cron('0 16 L * *', values),
      target: { type: 'host', device_id: values['device_id'] },
    }),
  },
];
