import type { schedule, schedules } from '../schedules.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const command = { command: 'tar -czf /backup/www.tar.gz .', cwd: '/srv/www', shell: 'sh' };
/** SHA-256 of the command above, as `commandHashInput` writes it. */
const commandHash = '8f6f36eb20ccd4453abb850cc68601d3363493bda460e8d3d2928c751000958c';

const backup: z.output<typeof schedule> = {
  id: samples.schedule,
  name: 'Backup of the site',
  enabled: true,
  kind: 'shell',
  spec: command,
  trigger: { type: 'cron', expr: '30 2 * * *', tz: 'Europe/Bucharest' },
  target: { type: 'host', device_id: samples.host },
  misfire: 'once',
  misfire_window_min: 60,
  overlap: 'skip',
  timeout_s: 3600,
  retries: 2,
  retry_backoff_s: 600,
  late_after_s: 300,
  notify: 'on_failure',
  command_hash: commandHash,
  next_run_at: '2026-11-03T00:30:00.000Z',
  upcoming: [
    '2026-11-03T00:30:00.000Z',
    '2026-11-04T00:30:00.000Z',
    '2026-11-05T00:30:00.000Z',
    '2026-11-06T00:30:00.000Z',
    '2026-11-07T00:30:00.000Z',
  ],
  approvals: [{ device_id: samples.host, command_hash: commandHash, approved_at: '2026-11-02T08:16:00.000Z' }],
  created_at: '2026-11-02T08:15:00.000Z',
  updated_at: '2026-11-02T08:15:00.000Z',
};

/** Descriptions and examples of the routes of schedules. */
export const schedulesDocs = {
  list: {
    description:
      '`pause` tells whether all schedules of the account are paused, and until when. `upcoming` holds the next five ' +
      'instants with skipped days already out; it is empty for a disabled schedule and for triggers without a timetable. ' +
      'Without `limit` the first 1,000 come; `next_cursor` asks for the next page.',
    example: {
      query: { q: 'backup', kind: 'shell,http', enabled: 'true', limit: 100 },
      response: { schedules: [backup], pause: { paused: false } },
    },
  },
  upcoming: {
    description:
      'Instants on skipped days are left out, and so is what the pause of the account leaves out: while it has no end there ' +
      'are none, else those after its end. Limits and overlaps are decided when a run is due. Past `limit`, and of more ' +
      'than 500 schedules, the answer is `truncated`.',
    example: {
      query: { from: '2026-11-02T09:00:00Z', to: '2026-11-05T09:00:00Z', limit: 2 },
      response: {
        upcoming: [
          { schedule_id: samples.schedule, name: 'Backup of the site', at: '2026-11-03T00:30:00.000Z' },
          { schedule_id: samples.schedule, name: 'Backup of the site', at: '2026-11-04T00:30:00.000Z' },
        ],
        truncated: true,
      },
    },
  },
  create: {
    description:
      'What is left out gets its default, which the answer shows. No host runs a shell command before it was approved ' +
      'for that host. 400 names the faulty fields, such as a cron expression that cannot be read or steps that form a ' +
      'circle; past the limit of schedules the answer is 429 `quota_exceeded`.',
    example: {
      body: {
        name: 'Backup of the site',
        kind: 'shell',
        spec: command,
        trigger: { type: 'cron', expr: '30 2 * * *', tz: 'Europe/Bucharest' },
        target: { type: 'host', device_id: samples.host },
        retries: 2,
        retry_backoff_s: 600,
      },
      response: { ...backup, approvals: [] },
    },
  },
  get: {
    description:
      'Times are UTC; the time zone of a cron expression is that of its trigger. A schedule of another account answers ' +
      'the same 404 as one that does not exist.',
    example: { params: { id: samples.schedule }, response: backup },
  },
  update: {
    description:
      'Fields that are sent replace the stored ones, `spec` and `trigger` as a whole, and the result is validated as a ' +
      'new schedule is. Runs that wait already follow the change. To enable a schedule again clears its count of failures.',
    example: {
      params: { id: samples.schedule },
      body: { spec: { ...command, command: 'tar -czf /backup/www-new.tar.gz .' } },
      response: {
        ...backup,
        spec: { ...command, command: 'tar -czf /backup/www-new.tar.gz .' },
        command_hash: '4e45b6186f419d9e18deb4fe7dbf7a6baed01dd70ad294bf4e198c179deabe7c',
        approvals: [],
      },
    },
  },
  remove: {
    description:
      'A host that works on a run learns of it with its next heartbeat. Runs that are over stay in the history.',
    example: { params: { id: samples.schedule } },
  },
  run: {
    description:
      'The answer does not wait for the run: follow `run_id` in the list of runs or on the stream. A disabled schedule ' +
      'can be run by hand, and a run that needs approval waits for it.',
    example: { params: { id: samples.schedule }, response: { queued: true, run_id: samples.waitingRun } },
  },
  runs: {
    description:
      'History is kept for 90 days. `attempt` counts up with each retry and each lost lease; `device_id` is the host that ' +
      'had the run last.',
    example: {
      params: { id: samples.schedule },
      query: { limit: 10 },
      response: {
        runs: [
          {
            id: samples.run,
            schedule_id: samples.schedule,
            scheduled_for: '2026-11-02T09:00:00.000Z',
            state: 'running',
            attempt: 1,
            device_id: samples.host,
            started_at: '2026-11-02T09:00:01.000Z',
            cost_micro_usd: 0,
            created_at: '2026-11-02T09:00:00.000Z',
          },
        ],
      },
    },
  },
  approveCommand: {
    description:
      'Show the command to a person first, then send the `command_hash` of what was shown. 409 `hash_mismatch` means that ' +
      'it was edited meanwhile. The approval counts for the device in `x-svc-device` alone, until the command changes.',
    example: {
      params: { id: samples.schedule },
      headers: { 'x-svc-device': samples.host },
      body: { command_hash: commandHash },
      response: { approved: true, device_id: samples.host },
    },
  },
  revokeCommand: {
    description:
      'The device gets no further run of the schedule; one that it runs already goes on. Without an approval nothing ' +
      'changes, and the answer is the same.',
    example: {
      params: { id: samples.schedule },
      headers: { 'x-svc-device': samples.host },
      response: { approved: false, device_id: samples.host },
    },
  },
  preview: {
    description:
      'Nothing is stored. Words or a trigger that cannot be understood answer 200 with `ok: false` and a `reason`, so a ' +
      'form can ask while a person types. `dst_warning` says that one of the shown runs falls into a change of clocks.',
    example: {
      body: { text: 'every weekday at 08:15', tz: 'Europe/Bucharest' },
      response: {
        ok: true,
        trigger: { type: 'cron', expr: '15 8 * * 1-5', tz: 'Europe/Bucharest' },
        next_runs: [
          '2026-11-03T06:15:00.000Z',
          '2026-11-04T06:15:00.000Z',
          '2026-11-05T06:15:00.000Z',
          '2026-11-06T06:15:00.000Z',
          '2026-11-09T06:15:00.000Z',
        ],
        dst_warning: false,
      },
    },
  },
  pause: {
    description:
      'Counts for every schedule of the account; runs that wait already can still be claimed. `until` must lie in the ' +
      'future, and `resume_policy` says what the end does about missed slots. To pause again replaces both.',
    example: {
      body: { until: '2099-11-09T08:00:00+02:00', resume_policy: 'backfill' },
      response: { paused: true, until: '2099-11-09T06:00:00.000Z', resume_policy: 'backfill' },
    },
  },
  resume: {
    description:
      'Without a pause nothing happens, and `backfilled` is 0. Slots of the pause that no catch-up run ' +
      'stands for are gone.',
    example: { body: { backfill: true }, response: { paused: false, backfilled: 3 } },
  },
  templates: {
    description:
      'A parameter with a default may be left out; the others have to be given. `schedule` shows what would be created, ' +
      'with `<name>` in place of what has no default.',
    example: {
      response: {
        templates: [
          {
            id: 'weekly-transcripts-digest',
            name: 'Weekly transcripts digest',
            description: 'Sums up the week’s meetings and sends the digest by e-mail every Friday at 17:00.',
            params: [{ name: 'tz', description: 'IANA time zone', required: false, default: 'Europe/Bucharest' }],
            schedule: {
              name: 'Weekly transcripts digest',
              kind: 'agent',
              spec: {
                prompt: 'Read the transcripts of this week’s meetings. Write a digest.',
                skill: 'transcripts-digest',
                permissions: ['read'],
              },
              trigger: { type: 'cron', expr: '0 17 * * 5', tz: 'Europe/Bucharest' },
              target: { type: 'cloud' },
            },
          },
        ],
      },
    },
  },
  useTemplate: {
    description:
      '`params` fills the blanks of the template; a field of a schedule among them, such as `name` or `target`, replaces ' +
      'that of the template. An unknown template and a missing parameter are 400.',
    example: {
      body: { template: 'disk-space', params: { path: '/srv' } },
      response: {
        schedule: {
          ...backup,
          name: 'Disk space',
          spec: {
            command: `test "$(df -P '/srv' | awk 'NR==2 { sub("%", "", $5); print $5 }')" -le 90`,
            shell: 'sh',
          },
          trigger: { type: 'cron', expr: '7 * * * *', tz: 'Europe/Bucharest' },
          target: { type: 'any' },
          timeout_s: 60,
          retries: 0,
          retry_backoff_s: 60,
          alert_on_fail: true,
          template: 'disk-space',
          command_hash: '5bd6aa8982d4c65410e304c9933ddad1b6fb056380d949c0d76935f39f40219f',
          next_run_at: '2026-11-02T09:07:00.000Z',
          upcoming: [
            '2026-11-02T09:07:00.000Z',
            '2026-11-02T10:07:00.000Z',
            '2026-11-02T11:07:00.000Z',
            '2026-11-02T12:07:00.000Z',
            '2026-11-02T13:07:00.000Z',
          ],
          approvals: [],
        },
      },
    },
  },
  stream: {
    description:
      'Frames say what changed, not how it is now: read the schedule or the run. Begin without `after` and read the ' +
      'list; after a connection that broke send the last `cursor` as `after`, and nothing is missing. With `missed: ' +
      'true` read the list anew.',
    example: {
      query: { after: samples.cursor },
      response: {
        event: 'schedule',
        data: { op: 'created', state: 'enabled', schedule_id: samples.schedule, cursor: samples.cursor },
      },
    },
  },
} satisfies Docs<typeof schedules>;
