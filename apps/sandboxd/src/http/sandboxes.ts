import {
  codeRequest,
  type ExecEvent,
  execRequest,
  forkRequest,
  frozenRequest,
  newSandbox,
  pauseRequest,
  changeRequest,
  resumeRequest,
  turnHeader,
} from '@svc/sandboxd-api';
import { NodeError } from '../error.ts';
import { resetKernel, runCode } from '../sandboxes/cells.ts';
import { exec } from '../sandboxes/commands.ts';
import { copyOut } from '../sandboxes/copies.ts';
import { entryOf } from '../sandboxes/context.ts';
import { change, create, destroy, freeze } from '../sandboxes/lifecycle.ts';
import { stateOf } from '../sandboxes/record.ts';
import { fork, pause, resume } from '../sandboxes/snapshots.ts';
import { type Call, readJson, type Route } from './route.ts';

const at = (path: string): string => `/v1/sandboxes/{id}${path}`;
const idOf = ({ values }: Call): string => values['id'] as string;

export const sandboxRoutes: Route[] = [
  {
    method: 'GET',
    path: '/v1/sandboxes',
    run: async ({ node }) => ({ sandboxes: [...node.context.entries.values()].map(({ record }) => stateOf(record)) }),
  },
  {
    method: 'PUT',
    path: at(''),
    run: async (call) => await create(call.node.context, idOf(call), await readJson(call.request, newSandbox)),
  },
  { method: 'GET', path: at(''), run: async (call) => stateOf(entryOf(call.node.context, idOf(call)).record) },
  {
    method: 'PATCH',
    path: at(''),
    run: async (call) => await change(call.node.context, idOf(call), await readJson(call.request, changeRequest)),
  },
  {
    method: 'GET',
    path: at('/copy'),
    async run(call) {
      call.response.setHeader('content-type', 'application/x-tar');
      await copyOut(call.node.context, idOf(call), call.response, call.signal);
    },
  },
  { method: 'DELETE', path: at(''), run: remove },
  {
    method: 'PUT',
    path: at('/frozen'),
    run: async (call) =>
      await freeze(call.node.context, idOf(call), (await readJson(call.request, frozenRequest)).frozen),
  },
  { method: 'POST', path: at('/exec'), run: stream },
  {
    method: 'POST',
    path: at('/run_code'),
    run: async (call) =>
      await runCode(call.node.context, idOf(call), await readJson(call.request, codeRequest), call.signal),
  },
  { method: 'POST', path: at('/kernel/reset'), run: (call) => resetKernel(call.node.context, idOf(call)) },
  {
    method: 'POST',
    path: at('/pause'),
    run: async (call) =>
      await pause(call.node.context, idOf(call), (await readJson(call.request, pauseRequest)).files_only),
  },
  {
    method: 'POST',
    path: at('/resume'),
    run: async (call) =>
      await resume(call.node.context, idOf(call), (await readJson(call.request, resumeRequest)).expires_at),
  },
  {
    method: 'POST',
    path: at('/fork'),
    run: async (call) =>
      await fork(call.node.context, idOf(call), (await readJson(call.request, forkRequest)).children),
  },
];

/** Throws `fenced` for a platform without turns where its installation has some: it may not know this sandbox. */
async function remove(call: Call): Promise<void> {
  const { node, request } = call;
  const owner = node.context.entries.get(idOf(call))?.record.owner;
  const turn = request.headers[turnHeader];
  if (owner !== undefined && !node.turns.allows(owner, typeof turn === 'string' ? turn : undefined))
    throw new NodeError(
      'fenced',
      'a platform that tells its turns holds this sandbox; see ./svc doctor of the one that asks',
    );
  await destroy(node.context, idOf(call));
}

/** A command's events as they come, one JSON text a line; the credit of a chunk is returned once it is on its way. */
async function stream(call: Call): Promise<void> {
  const { response, signal } = call;
  const request = await readJson(call.request, execRequest);
  const event = (value: ExecEvent, done: () => void): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.write(`${JSON.stringify(value)}\n`, done);
  };
  try {
    await exec(call.node.context, idOf(call), request, { event, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  response.end();
}
