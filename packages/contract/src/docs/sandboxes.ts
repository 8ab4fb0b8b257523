import type { sandboxes } from '../sandboxes.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';
import { sandboxFilesDocs } from './sandboxes.files.ts';
import { executed, file, running } from './sandboxes.shapes.ts';

const ids = { id: samples.sandbox };
const { stdout: _out, stderr: _err, truncated: _cut, ...exited } = executed;
const command = { shell: 'mkdir -p out && echo "hello, sandbox" | tee out/hello.txt', timeout_seconds: 60 };

/** A change says nothing of the cost, which grows by itself. */
const { cost_micro_eur: _, ...told } = running;

/** Descriptions and examples of the routes of sandboxes. */
export const sandboxesDocs = {
  ...sandboxFilesDocs,
  list: {
    description:
      'Those that other keys made are in the list too; `usage` counts commands, and the seconds that they took. Every page is ' +
      'in the same order, the live ones first, so that one which ends between two pages may come on both. Without `limit` ' +
      'the first 200 come; `next_cursor` asks for the next page.',
    example: { query: { status: 'running', limit: 100 }, response: { object: 'list', data: [running] } },
  },
  stream: {
    description:
      'Each creation, pause, resume, change and end comes with the sandbox as it is then; commands that run in it ' +
      'are not told. Begin without `after` and read the list; after a connection that broke send the last `cursor` ' +
      'as `after`, and nothing is missing. With `missed: true` read the list anew.',
    example: {
      query: { after: samples.cursor },
      response: { event: 'sandbox', data: { op: 'created', sandbox: told, cursor: samples.cursor } },
    },
  },
  create: {
    description:
      'A key runs at most 3 sandboxes at once and an account 5 of v2: past that it is 429 ' +
      '`sandbox_concurrency_limit`, and 503 `sandbox_capacity` passes (`details.image`: it is built): try again after `Retry-After`, or ask for `v1`. Without ' +
      '`egress` code inside reaches no network; `restored: true` is a start from a warm snapshot. Unless its operator set ' +
      'otherwise, a sandbox has 1 GiB of memory, 1 core, 512 processes and threads, and 2 GB of workspace.',
    example: {
      body: {
        backend: 'v2',
        template: 'svc-base',
        ttl_seconds: 3600,
        egress: { mode: 'none' },
        metadata: { task: 'report' },
      },
      response: running,
    },
  },
  get: {
    description:
      'Works in every state: one that has expired or was destroyed can be read for 30 days more. Only a ' +
      '`running` one takes commands. Some seconds after a resume or fork `ended_after_resume` names processes that came back ' +
      'and ended within 5 s, though the answer said `restored: true`.',
    example: { params: ids, response: running },
  },
  events: {
    description:
      'Creation, pause, resume, fork, a change of its lifetime, its end with the `reason`, and a pause or resume that `failed`; ' +
      'commands stand in the audit log. The last 200 of a sandbox are kept, until it is forgotten 30 days after its end.',
    example: {
      params: ids,
      query: { limit: 50 },
      response: {
        events: [
          {
            id: '1204',
            at: '2026-11-02T09:00:00.000Z',
            kind: 'created',
            detail: { template: 'svc-base', backend: 'v2' },
          },
        ],
      },
    },
  },
  update: {
    description:
      'What is left out stays. A connection that is open stays open when `egress` changes, and settings of a preset reach ' +
      'processes that start from then on.',
    example: { params: ids, body: { ttl_seconds: 7200, metadata: { task: 'report' } }, response: running },
  },
  remove: {
    description:
      'Its processes end and its files are gone; artifacts that were collected keep their links until these expire. A ' +
      'paused sandbox can be destroyed as well.',
    example: { params: ids, response: { ...running, status: 'destroyed' } },
  },
  terminal: {
    description:
      'Messages are those of a terminal of an environment: bytes in binary ones both ways, `{"resize":{"cols":80,"rows":24}}` ' +
      'and at the end `{"exit_code":0}` as text. It runs beside commands, counts as one for as long as it is open, minute by ' +
      'minute, and ends with a pause or a fork; what was started with `nohup` lives on.',
    example: { params: ids, query: { cols: 120, rows: 40 }, response: undefined },
  },
  exec: {
    description:
      'A command that fails is a 200 with its `exit_code`, which is null only on timeout or when it could not start; ' +
      '`truncated` names the outputs that were cut at 1 MiB. One command runs at a time (409 `sandbox_busy`), and those of ' +
      'an account may take 7,200 s a day. 409 `command_interrupted`: it had begun when the platform stopped.',
    example: {
      params: ids,
      body: command,
      response: executed,
      frame: { type: 'exit', ...exited },
    },
  },
  run: {
    description:
      'Takes a command as exec does, and `backend`, `template`, `egress` and `metadata` as create does; the sandbox goes ' +
      'whatever the command does. Write results to `/workspace/out`: they come back as `artifacts`, with links that are ' +
      'valid for 1 h.',
    example: { body: { ...command, template: 'svc-base' }, response: { ...executed, artifacts: [file] } },
  },
  runCode: {
    description:
      'Variables and imports of earlier cells are there; `kernel_restarted: true` says that they are gone, and ' +
      '`restart_reason` why. An uncaught exception is a 200 with `error`; `!ls`, `%pip`, `await` and `display` work as in a ' +
      'notebook, and what threads write between cells comes with the next. A caller that goes away interrupts its cell, and 409 ' +
      '`sandbox_busy` means that another one runs.',
    example: {
      params: ids,
      body: { code: 'x = 6 * 7\nprint("computed")\nx', timeout_seconds: 30 },
      response: {
        stdout: 'computed\n',
        stderr: '',
        truncated: [],
        result: '42',
        error: null,
        duration_ms: 11,
        execution_count: 1,
        kernel_restarted: false,
        images: [],
      },
    },
  },
  resetKernel: {
    description:
      'Variables and imports are gone: the next cell runs in a fresh Python. A cell that runs just now ends with the error ' +
      '`KernelReset`: this is the way to stop one. 409 `sandbox_busy` means that a pause or a fork is under way.',
    example: { params: ids, response: { id: samples.sandbox, reset: true } },
  },
  pause: {
    description:
      'A paused sandbox uses no time: only its snapshot is metered, and `expires_at` is when it would end if it were ' +
      'resumed now; an account has at most 10 (429 `sandbox_paused_limit`). 409 `memory_not_saved` names what stands in the ' +
      'way, and the sandbox goes on: with `files_only` its files alone are kept.',
    example: { params: ids, body: { files_only: false }, response: { ...running, status: 'paused' } },
  },
  resume: {
    description:
      '`expires_at` moves by the time of the pause. The limits of running sandboxes hold again: 429 ' +
      '`sandbox_concurrency_limit`. After a cold start processes and variables are gone; which of them ended right after ' +
      'a warm one, the sandbox tells some seconds later in `ended_after_resume`.',
    example: {
      params: { id: samples.pausedSandbox },
      response: { ...running, id: samples.pausedSandbox, restored: true, ready_ms: 310 },
    },
  },
  fork: {
    description:
      'Each child is a sandbox of its own, with the egress of its parent, and is billed like any other. Look at each: ' +
      '`error` means that this one did not start. A fork may not take a key above 6 live sandboxes: 429 ' +
      '`sandbox_concurrency_limit`.',
    example: {
      params: ids,
      body: { count: 2, ttl_seconds: 600 },
      response: {
        object: 'list',
        parent_id: samples.sandbox,
        data: [
          { id: 'd8001050-f7e0-4f94-bfbb-4281ed164ff0', restored: true, ready_ms: 412 },
          { id: '0b6f3f0a-7a55-4f0e-9d43-2a8f5b1c6e77', restored: true, ready_ms: 455 },
        ],
      },
    },
  },
} satisfies Docs<typeof sandboxes>;
