import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { inTime } from '../sandboxes/instances.ts';
import { type Context, type Entry, entryOf } from '../sandboxes/context.ts';
import { NodeError } from '../error.ts';
import type { Call, Route } from './route.ts';

/** spec: file upload at most 100 MB. */
const mostBytes = 100 * 1024 * 1024;
const at = (path: string): string => `/v1/sandboxes/{id}${path}`;

/** The workspace of a sandbox whose files are there: running or paused. */
function workspaceOf(context: Context, id: string): { root: string; entry: Entry } {
  const entry = entryOf(context, id);
  if (entry.record.status === 'stopped') throw new NodeError('sandbox_not_running', 'the sandbox is stopped');
  return { root: context.workspaces.path(entry.record.instance), entry };
}

/**
 * The body as a stream of its own: a writer that refuses ends what it reads, and the answer goes out over the request's
 * connection.
 */
function bodyOf({ request }: Call): PassThrough {
  const body = new PassThrough();
  request.once('close', () => {
    if (!request.complete) body.destroy(new Error('the upload broke off'));
  });
  return request.pipe(body);
}

/**
 * Passes a file on, and fails when it was shorter than what its answer promised: what ran meanwhile cut it. The broken
 * connection tells the reader, who would wait for the rest.
 */
function whole(bytes: number) {
  return async function* (file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let left = bytes;
    for await (const chunk of file) {
      left -= chunk.length;
      yield chunk;
    }
    if (left > 0) throw new NodeError('sandbox_busy', 'the file became shorter while it was sent');
  };
}

/** An agent that does not answer holds no upload up for longer. */
const announceMs = 1_000;

/**
 * gVisor tells watchers inside of what happens inside only, so there its agent does the last step of an upload, and reloading
 * servers hear of it. In v1 they hear by themselves.
 */
function announcerOf({ record, live, busy }: Entry) {
  if (record.backend !== 'v2' || !live || busy === 'pause' || busy === 'fork') return undefined;
  return async (path: string, from?: string): Promise<boolean> => {
    const inside = (name: string): string => `/workspace/${name}`;
    const request = {
      kind: 'announce',
      path: inside(path),
      ...(from !== undefined && { from: inside(from) }),
    } as const;
    return await inTime(live.client.ask(request), announceMs).then(
      ({ announced }) => announced,
      () => false,
    );
  };
}

/** Less than any two changes are apart. */
const leastMs = 0.001;

/** When a file and the directory that it is in changed, by their own clock. */
async function changedAt(root: string, path: string): Promise<number> {
  const places = [join(root, path), dirname(join(root, path))];
  const found = await Promise.all(places.map((place) => lstat(place).catch(() => undefined)));
  return Math.max(0, ...found.map((stats) => stats?.ctimeMs ?? 0));
}

const placeOf = ({ node, values, query }: Call) => {
  const { root, entry } = workspaceOf(node.context, values['id'] as string);
  return { root, entry, path: query.get('path') ?? '' };
};

export const fileRoutes: Route[] = [
  {
    method: 'PUT',
    path: at('/files'),
    async run(call) {
      const { root, entry, path } = placeOf(call);
      const readOnly = call.query.get('read_only') === '1';
      const { uid } = entry.record;
      const options = { uid, readOnly, mostBytes, announce: announcerOf(entry) };
      const written = await call.node.parts.files.write(root, path, bodyOf(call), options);
      entry.accountedAt = (await changedAt(root, written.path)) + leastMs;
      return written;
    },
  },
  {
    method: 'GET',
    path: at('/files'),
    async run(call) {
      const { root, path } = placeOf(call);
      const { files } = call.node.parts;
      return { entries: await (call.query.get('recursive') === '1' ? files.walk(root, path) : files.list(root, path)) };
    },
  },
  {
    method: 'GET',
    path: at('/file'),
    async run(call) {
      const { root, path } = placeOf(call);
      const { bytes, body } = await call.node.parts.files.read(root, path);
      call.response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes });
      await pipeline(body, whole(bytes), call.response);
    },
  },
  {
    method: 'GET',
    path: at('/archive'),
    async run(call) {
      const { root } = placeOf(call);
      call.response.writeHead(200, { 'content-type': 'application/x-tar' });
      await pipeline(call.node.parts.files.archive(root), call.response);
    },
  },
];
