import type { sandboxFiles } from '../sandboxes.files.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';
import { file } from './sandboxes.shapes.ts';

const ids = { id: samples.sandbox };

/** Descriptions and examples of the routes of a sandbox's files. */
export const sandboxFilesDocs = {
  writeFile: {
    description:
      'Missing directories are made, and a file that is there is replaced. `generation` counts changes of the workspace. ' +
      'Past 100 MiB the answer is 413 `payload_too_large`; a workspace holds 2 GB.',
    example: {
      params: { ...ids, path: 'out/hello.txt' },
      body: 'hello, sandbox\n',
      response: { path: 'out/hello.txt', bytes: 15, sha256: file.sha256, generation: 2 },
    },
  },
  readFile: {
    description:
      'Always `application/octet-stream`, as an attachment, whatever the file is. Links that lead out of `/workspace` are ' +
      'not followed, and what is no regular file is not read.',
    example: { params: { ...ids, path: 'out/hello.txt' }, response: 'The bytes of the file.' },
  },
  listFiles: {
    description: 'Without `path` it is `/workspace` itself. Ask again with the path of a directory for what is in it.',
    example: {
      params: ids,
      query: { path: 'out' },
      response: {
        entries: [{ path: 'out/hello.txt', bytes: 15, type: 'file', mtime: '2026-11-02T09:00:02.000Z' }],
      },
    },
  },
  artifacts: {
    description:
      'Links are valid for 1 h and need no key; ask again for new ones. A file without `url` did not pass the antivirus, ' +
      'or could not be scanned. Past 2 GiB in one answer: 413 `workspace_too_large`.',
    example: { params: ids, response: { data: [file] } },
  },
  snapshot: {
    description:
      'The sandbox goes on. The archive is a file like an artifact, and its link too is valid for 1 h. v2 answers 409 ' +
      '`not_supported_on_v2`: pause keeps its workspace, with memory and processes.',
    example: {
      params: ids,
      body: { name: 'before the upgrade' },
      response: {
        object: 'snapshot',
        id: samples.artifact,
        name: 'before the upgrade',
        bytes: 10240,
        sha256: '4b1d0c7e8f2a3b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c',
        scan: 'clean',
        url: file.url,
        expires_at: '2026-11-02T11:00:00.000Z',
      },
    },
  },
  preview: {
    description:
      'The address itself needs no key: share it with care, and keep the time short. It answers a bare 403 once ' +
      '`expires_at` has passed or the key that made it is no longer in use. 502 means that nothing inside listens on the ' +
      'port, or that the sandbox does not run.',
    example: {
      params: ids,
      body: { port: 3000, ttl_seconds: 900 },
      response: {
        port: 3000,
        url: 'https://3000-exampleexampleexampleexamp.example-previews.net/',
        expires_at: '2026-11-02T09:15:00.000Z',
      },
    },
  },
} satisfies Docs<typeof sandboxFiles>;
