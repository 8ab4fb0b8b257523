import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
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
      return await call.node.parts.files.write(root, path, bodyOf(call), {
        uid: entry.record.uid,
        readOnly,
        mostBytes,
      });
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
