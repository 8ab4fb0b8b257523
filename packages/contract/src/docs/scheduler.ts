import type { scheduler } from '../scheduler.ts';
import type { run, schedulerHost } from '../scheduler.shapes.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const running: z.output<typeof run> = {
  id: samples.run,
  schedule_id: samples.schedule,
  scheduled_for: '2026-11-02T09:00:00.000Z',
  state: 'running',
  attempt: 1,
  device_id: samples.host,
  started_at: '2026-11-02T09:00:01.000Z',
  cost_micro_usd: 0,
  created_at: '2026-11-02T09:00:00.000Z',
};
const waiting: z.output<typeof run> = {
  id: samples.waitingRun,
  schedule_id: samples.schedule,
  scheduled_for: '2026-11-02T09:00:00.000Z',
  state: 'awaiting_approval',
  attempt: 1,
  cost_micro_usd: 0,
  created_at: '2026-11-02T09:00:00.000Z',
};
const server: z.output<typeof schedulerHost> = {
  id: samples.machine,
  device_id: samples.host,
  name: 'Build server',
  platform: 'server',
  tags: ['linux', 'docker'],
  kinds: ['http', 'shell'],
  online: true,
  last_seen: '2026-11-02T09:00:01.000Z',
  paused: false,
  running: 1,
};
const log = 'archived 1204 files\n';

/** Descriptions and examples of the routes of runs and of the machines that take them. */
export const schedulerDocs = {
  claim: {
    description:
      '`run` is null when there is nothing to do. Send heartbeats well before the lease runs out, or the run ' +
      'goes to another host as its next attempt. A shell run is offered only after its command was approved for this device, ' +
      'and 403 `forbidden` means that the device serves with another key.',
    example: {
      headers: { 'x-svc-device': samples.host },
      body: { kinds: ['shell', 'http'], tags: ['linux', 'docker'], wait_s: 20 },
      response: {
        run: {
          id: samples.run,
          attempt: 1,
          schedule_id: samples.schedule,
          name: 'Backup of the site',
          kind: 'shell',
          spec: { command: 'tar -czf /backup/www.tar.gz .', cwd: '/srv/www', shell: 'sh' },
          scheduled_for: '2026-11-02T09:00:00.000Z',
          timeout_s: 3600,
          command_hash: '8f6f36eb20ccd4453abb850cc68601d3363493bda460e8d3d2928c751000958c',
          lease_expires_at: '2026-11-02T09:01:01.000Z',
        },
      },
    },
  },
  heartbeat: {
    description:
      'Each one renews the lease for 60 s. On `cancel: true`, and on 409 `lease_held`, which says that this attempt is no ' +
      'longer the current one, stop the work. `cost_micro_usd` never goes down, and a run over its budget has failed.',
    example: {
      params: { id: samples.run },
      headers: { 'x-svc-device': samples.host },
      body: { attempt: 1, log_tail: 'archiving…\n' },
      response: { lease_expires_at: '2026-11-02T09:01:16.000Z', cancel: false },
    },
  },
  result: {
    description:
      'A repeat of a result that was taken answers alike. 409 `lease_held` means that another attempt has the run, or ' +
      'that it is over: drop the result. Of a cancelled run it says that the work has ended, for which the next run of the ' +
      'schedule waits as long as the lease would last.',
    example: {
      params: { id: samples.run },
      headers: { 'x-svc-device': samples.host },
      body: { attempt: 1, ok: true, exit_code: 0, log_tail: log },
      response: {
        run: { ...running, state: 'succeeded', finished_at: '2026-11-02T09:04:10.000Z', exit_code: 0, log_tail: log },
      },
    },
  },
  decide: {
    description:
      'A run that nobody decides on is skipped after 24 hours. 409 `task_not_confirmable` means that it does not wait any ' +
      'more, often because somebody decided on another device.',
    example: {
      params: { id: samples.waitingRun },
      body: { decision: 'approve' },
      response: { run: { ...waiting, state: 'pending' } },
    },
  },
  cancel: {
    description:
      'The run is `cancelled` at once, and the next one of its schedule starts when the host has stopped its work. 409 `task_not_confirmable` means that ' +
      'it was over already.',
    example: {
      params: { id: samples.waitingRun },
      response: {
        run: {
          ...waiting,
          state: 'cancelled',
          finished_at: '2026-11-02T09:05:00.000Z',
          error: 'cancelled by a person',
        },
      },
    },
  },
  runs: {
    description:
      'Runs of all schedules, deleted ones included, for 90 days. `state` narrows the list, for instance to ' +
      '`awaiting_approval`: what waits for a person; `from` and `to` go by `created_at`, and all filters hold together. ' +
      '`next_cursor` asks for the next page.',
    example: {
      query: { state: 'running,awaiting_approval', from: '2026-11-02T00:00:00Z', limit: 20 },
      response: { runs: [running] },
    },
  },
  getRun: {
    description:
      'The record that alerts and lists refer to, also of a deleted schedule, for 90 days. `waiting_for` tells of a pending ' +
      'one why nothing has started it yet, and `attempts` how each start of it went.',
    example: {
      params: { id: samples.run },
      response: {
        ...running,
        name: 'Backup of the site',
        kind: 'shell',
        spec: { command: 'tar -czf /backup/www.tar.gz .', cwd: '/srv/www', shell: 'sh' },
        command_hash: '8f6f36eb20ccd4453abb850cc68601d3363493bda460e8d3d2928c751000958c',
        timeout_s: 3600,
        attempts: [{ attempt: 1, device_id: samples.host, state: 'running', started_at: '2026-11-02T09:00:01.000Z' }],
      },
    },
  },
  rerun: {
    description:
      'It takes what the schedule says now, and needs the same rights; `queued` is false when a pause, a skipped day, a ' +
      'limit or an overlap forbids it. 409 `task_not_confirmable` means that the run is not over, and 404 that the run or ' +
      'its schedule is gone.',
    example: { params: { id: samples.run }, response: { queued: true, run_id: samples.waitingRun } },
  },
  log: {
    description:
      'All attempts one after the other, in UTF-8, the first 10 MiB, for 30 days; the header `x-svc-log-bytes` says how ' +
      'many bytes are kept. Events begin with what is there from `from` on and end with `end`; after a break ask for what ' +
      'follows the last byte that came.',
    example: {
      params: { id: samples.run },
      query: { from: 0 },
      response: 'The text of the log.',
      frame: { event: 'log', data: { from: 0, text: log } },
    },
  },
  appendLog: {
    description:
      'For the machine that holds the run, in pieces of 1 MiB at most, each of whole characters. A repeat adds nothing, and ' +
      'a gap neither: `bytes` says where to go on. 429 `quota_exceeded` means that the account keeps as many logs as it may.',
    example: {
      params: { id: samples.run },
      headers: { 'x-svc-device': samples.host },
      query: { attempt: 1, offset: 0 },
      body: log,
      response: { bytes: 20, full: false },
    },
  },
  hosts: {
    description:
      'A machine appears with its first claim. `running` counts the runs that it holds now; `tags` are those it reports, ' +
      'or the ones that a PATCH set in their place. Without `limit` the first 1,000 come; `next_cursor` asks for the next ' +
      'page.',
    example: { query: { limit: 100 }, response: { hosts: [server] } },
  },
  getHost: {
    description:
      'By the `id` of the list, which is not that of its device. `online` means seen within the last 45 s; a machine that ' +
      'was not seen for 90 days is forgotten.',
    example: { params: { id: samples.machine }, response: server },
  },
  updateHost: {
    description:
      'A paused machine gets no further run and finishes those it has. `max_parallel` bounds how many it holds at once; ' +
      'null leaves that to the machine.',
    example: {
      params: { id: samples.machine },
      body: { tags: ['linux', 'gpu'], max_parallel: 2 },
      response: { ...server, tags: ['linux', 'gpu'], max_parallel: 2 },
    },
  },
  removeHost: {
    description:
      'A run that it holds goes on, and ends or loses its lease as ever. A machine that claims again is listed again, ' +
      'and asks for the approval of its commands again.',
    example: { params: { id: samples.machine }, response: { deleted: true, id: samples.machine } },
  },
  reportNative: {
    description:
      'For schedules with `native: true` whose target is the calling device. `scheduled_for` must be a slot of the ' +
      'schedule within the last 90 days, else 400. 409 `lease_held` means that the run of this slot was taken or is over.',
    example: {
      headers: { 'x-svc-device': samples.host },
      body: {
        schedule_id: samples.schedule,
        scheduled_for: '2026-11-02T00:30:00.000Z',
        started_at: '2026-11-02T00:30:00.000Z',
        finished_at: '2026-11-02T00:33:20.000Z',
        ok: true,
        exit_code: 0,
        log_tail: log,
      },
      response: {
        run: {
          ...running,
          scheduled_for: '2026-11-02T00:30:00.000Z',
          state: 'succeeded',
          started_at: '2026-11-02T00:30:00.000Z',
          finished_at: '2026-11-02T00:33:20.000Z',
          exit_code: 0,
          log_tail: log,
        },
      },
    },
  },
  fire: {
    description:
      'A name that no schedule waits for answers `queued: 0`. Pauses, skipped days and limits of each schedule hold here ' +
      'too. Send an `Idempotency-Key`, so that a repeat after a lost answer starts nothing twice.',
    example: { params: { trigger_id: 'deploy.finished' }, response: { queued: 1 } },
  },
} satisfies Docs<typeof scheduler>;
