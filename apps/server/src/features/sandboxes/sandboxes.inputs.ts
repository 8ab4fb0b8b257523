import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { type NodeClient, NodeFailure, type WrittenFile } from '@svc/sandboxd-api';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { OutboundError } from '../../kernel/outside/outbound.ts';
import { openLink } from '../artifacts/index.ts';

/** Limits of one input (design: sandboxes, 9). */
const mostBytes = 100 * 1024 * 1024;
const timeoutMs = 60_000;

/** The parts of a request that this needs. */
type Caller = Pick<Context, 'kernel' | 'signal'>;

/** An input as it was written. */
export interface WrittenInput {
  path: string;
  sha256: string;
}

/** Fetches the inputs of a command and writes them read-only below /workspace/in, one after the other. */
export async function writeInputs(
  caller: Caller,
  node: NodeClient,
  id: string,
  inputs: readonly { path: string; url: string }[],
): Promise<WrittenInput[]> {
  const written: WrittenInput[] = [];
  for (const [index, { path, url }] of inputs.entries()) {
    try {
      const { sha256 } = await writeInput(caller, node, id, `in/${path}`, url);
      written.push({ path, sha256 });
    } catch (error) {
      if (!isFaultOfTheirs(error)) throw error;
      throw badRequest(`inputs: ${error.message}`, { inputs: [`${index}: ${error.message}`] });
    }
  }
  return written;
}

function isFaultOfTheirs(error: unknown): error is Error {
  if (error instanceof OutboundError) return true;
  if (error instanceof NodeFailure) return error.code === 'bad_request' || error.code === 'not_found';
  return error instanceof ApiError && ['bad_request', 'forbidden', 'not_found'].includes(error.code);
}

/** The platform's own signed links come from the store, all others by the safe client, from which they flow on. */
async function writeInput(
  { kernel, signal }: Caller,
  node: NodeClient,
  id: string,
  path: string,
  url: string,
): Promise<WrittenFile> {
  const own = await openLink(kernel, url);
  if (own) {
    if (own.bytes > mostBytes) {
      own.body.destroy();
      throw tooLarge();
    }
    return node.writeFile(id, path, own.body, true);
  }
  const body = new PassThrough();
  // The side that fails first ends the other; the download's own error is the one that is reported.
  const writing = node.writeFile(id, path, body, true);
  writing.catch(() => body.destroy());
  const sink = async (chunk: Buffer): Promise<void> => {
    if (!body.write(chunk) && !body.destroyed) await once(body, 'drain', { signal });
  };
  try {
    const answer = await kernel.outbound.request(url, { timeoutMs, maxBytes: mostBytes, signal, sink });
    if (answer.truncated) throw tooLarge();
    if (answer.status !== 200) throw badRequest(`the server answered ${answer.status}`);
    body.end();
  } catch (error) {
    body.destroy(error as Error);
    await writing.catch(() => {});
    throw error;
  }
  return writing;
}

const tooLarge = () => badRequest('the file is over 100 MiB');
