import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';

/** An empty directory (real path) that goes when the test ends. */
export async function temporaryDirectory(test: TestContext): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'svc-sandboxd-')));
  test.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** Everything of a stream, as text. */
export async function textOf(stream: Readable): Promise<string> {
  return (await buffer(stream)).toString();
}

/** Why a test cannot run here; false where it can. Root is what most of a node agent is about. */
export const needsRoot: string | false =
  process.platform === 'linux' && process.getuid?.() === 0 ? false : 'needs root on Linux';
