import type { host, hosts } from '../hosts.ts';
import { execDocs } from './hosts.execs.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const server: z.output<typeof host> = {
  device_id: samples.host,
  name: 'Build server',
  platform: 'server',
  os: 'linux',
  hostname: 'build-1',
  roots: ['/srv/www', '/home/build'],
  since: 1793606400000,
  last_seen: 1793606415000,
};

/** Descriptions and examples of the routes of hosts. */
export const hostsDocs = {
  list: {
    description:
      'A host is present while its stream is open, and leaves the list 45 s after its last sign of life; of more than ' +
      '1,000 those come that are present for longest. `since` and `last_seen` are milliseconds since the epoch.',
    example: {
      response: {
        hosts: [server],
      },
    },
  },
  get: {
    description:
      'To see whether one host is there before an operation is sent to it. 404 means that it is not present now: its device ' +
      'may be known all the same.',
    example: { params: { device_id: samples.host }, response: server },
  },
  stream: {
    description:
      'The first frame is `ready`; then every operation comes as `exec`, to be answered through the result route before ' +
      '`deadline`, and `exec_cancel` says that nobody waits any more. An `exec` with `detached` comes again with each new ' +
      'stream until it is over: the host asks `startExec` before it starts. A newer stream of the device replaces the older ' +
      'one; 403 `forbidden` means that the device already serves with another key.',
    example: {
      headers: { 'x-svc-device': samples.host },
      query: { os: 'linux', hostname: 'build-1', roots: '/srv/www,/home/build' },
      response: {
        event: 'exec',
        data: {
          req_id: samples.call,
          op: 'shell',
          args: { command: 'uptime' },
          timeout_ms: 30000,
          from_device_id: samples.device,
          deadline: 1793606445000,
        },
      },
    },
  },
  exec: {
    description:
      'A host that is away answers 409 `host_offline`, unless `if_offline` is `wait`; 504 `host_timeout` comes after ' +
      '`timeout_ms`, and 502 `host_disconnected` when the host went away and may have done it. With a 202 the host does the ' +
      'command by itself, at most once and in order, as long as the key that asked may: `getExec` says what became of it. ' +
      '`ok` and `error` are what the host says: a command that fails is no failure of the call.',
    example: {
      params: { device_id: samples.host },
      body: { op: 'shell', args: { command: 'uptime' }, timeout_ms: 30000 },
      response: {
        req_id: samples.call,
        ok: true,
        result: { exit_code: 0, stdout: ' 09:00:15 up 12 days\n', stderr: '', timed_out: false, truncated: false },
      },
    },
  },
  result: {
    description:
      'The first result counts. A later one, and one that comes after the caller has gone, is answered alike and ' +
      'dropped, so a repeat is harmless. 404 `not_found` means that the operation was not sent to this device, or is long over.',
    example: {
      headers: { 'x-svc-device': samples.host },
      params: { req_id: samples.call },
      body: {
        ok: true,
        result: { exit_code: 0, stdout: ' 09:00:15 up 12 days\n', stderr: '', timed_out: false, truncated: false },
      },
      response: { ok: true },
    },
  },
  results: {
    description:
      'As many single reports, each by itself: `taken` says of each, in their order, whether it was for this device. A host under ' +
      'load joins what ends at the same moment.',
    example: {
      headers: { 'x-svc-device': samples.host },
      body: { results: [{ req_id: samples.call, ok: true, result: { exit_code: 0 } }] },
      response: { taken: [true] },
    },
  },
  ...execDocs,
  invite: {
    description:
      '`svc host invite` prints the line to run on the new machine, which needs Node.js 20: it fetches the program from ' +
      '`path`, compares it with `sha256`, installs it and exchanges the code. At most 20 codes are open at a time, and the ' +
      'key that comes of one has the end, models and spend cap of the calling key. A machine that serves already is taken ' +
      'over only by a code that names it in `device_id`.',
    example: {
      body: { name: 'Build server' },
      response: {
        code: samples.invite,
        expires_at: '2026-11-02T09:10:00.000Z',
        path: '/install/host.mjs',
        sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      },
    },
  },
  redeemInvite: {
    description:
      'A code works for one device, which gets the same answer again until the code ends; one that another device used, is ' +
      'too old, or was made by a key that is revoked answers 403 `forbidden`. ' +
      'The key is bound to the device and belongs to the key that made the code: it goes with it when that one is ' +
      'revoked with its children.',
    example: {
      body: { code: samples.invite, device: { id: samples.host, name: 'build-1' } },
      response: { key: samples.keyText, name: 'Build server', device_id: samples.host },
    },
  },
} satisfies Docs<typeof hosts>;
