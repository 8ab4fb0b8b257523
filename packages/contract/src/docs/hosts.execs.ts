import type { execRoutes, hostExec } from '../hosts.execs.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const output = 'restored 1204 rows\n';

const sent: z.output<typeof hostExec> = {
  req_id: samples.exec,
  device_id: samples.host,
  op: 'shell',
  state: 'sent',
  output_bytes: 0,
  created_at: '2026-11-02T09:00:00.000Z',
  expires_at: '2026-11-03T09:00:00.000Z',
};

const asHost = { headers: { 'x-svc-device': samples.host }, params: { req_id: samples.exec } };

/** Descriptions and examples of commands that hosts do by themselves. */
export const execDocs = {
  listExecs: {
    description:
      'A key that has only `hosts:exec` sees the commands that it gave, one with `hosts` or `hosts:read` all of the account. ' +
      'The command itself is not shown: it may hold secrets.',
    example: { query: { limit: 50, device_id: samples.host }, response: { execs: [sent] } },
  },
  getExec: {
    description:
      '`waiting`: its host is away, or has 16 to do; `sent`: the host was told; `running`: it has started; `done`: `ok`, ' +
      '`result` and `error` are what the host says; `expired`: it did not start in time; `cancelled`: it never started, or ' +
      'was ended; `unknown`: nobody can know how it ended. `error` says why it is one of the last two, such as ' +
      '`host_restarted` or `journal_lost`.',
    example: { params: { req_id: samples.exec }, response: sent },
  },
  execOutput: {
    description:
      'Standard output and error in the order in which they came, the first 10 MiB, for 30 days. Events begin with what is ' +
      'there from `from` on and end with `end`; after a break ask for what follows the last `to`.',
    example: {
      params: { req_id: samples.exec },
      query: { from: 0 },
      response: 'The text of the output.',
      frame: { event: 'chunk', data: { from: 0, to: 19, text: output } },
    },
  },
  cancelExec: {
    description:
      'What has not started never does. What runs is ended by its host, at once or when that is back: the record says ' +
      '`cancel_asked_at` until the host says that it is over. What is over stays as it is.',
    example: {
      params: { req_id: samples.exec },
      response: {
        ...sent,
        state: 'cancelled',
        error: 'cancelled',
        finished_at: '2026-11-02T09:00:05.000Z',
      },
    },
  },
  startExec: {
    description:
      'The host writes command and token down, asks, and starts it only after a 200; the same token gets the same answer. ' +
      '409 `exec_over` means that it was cancelled or has expired. 409 `exec_taken` means that this device has asked with ' +
      'another token and lost what it wrote down; the command is `unknown` from then on.',
    example: { ...asHost, body: { token: 'EXAMPLE-token-EXAMPLE-token' }, response: { state: 'running' } },
  },
  appendOutput: {
    description:
      'For the host that runs it, in pieces of 1 MiB at most. A repeat adds nothing, and a gap neither: `bytes` says where ' +
      'to go on. 429 `quota_exceeded` means that the account keeps as much of its commands as it may.',
    example: {
      ...asHost,
      query: { offset: 0 },
      body: output,
      response: { bytes: 19, full: false },
    },
  },
} satisfies Docs<typeof execRoutes>;
