import { Readable } from 'node:stream';
import { type NodeClient, NodeFailure } from '@svc/sandboxd-api';
import type { Context } from '../../kernel/context.ts';
import { badRequest } from '../../kernel/errors.ts';
import { OutboundError } from '../../kernel/outbound.ts';
import { openLink } from '../artifacts/index.ts';

/** Limits of one input (design: sandboxes, 9). */
const mostBytes = 100 * 1024 * 1024;
const timeoutMs = 60_000;

/** Who asks. */
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
      const { sha256 } = await node.writeFile(id, `in/${path}`, await open(caller, url), true);
      written.push({ path, sha256 });
    } catch (error) {
      if (!(error instanceof OutboundError || (error instanceof NodeFailure && error.code === 'bad_request')))
        throw error;
      throw badRequest(`inputs: ${error.message}`, { inputs: [`${index}: ${error.message}`] });
    }
  }
  return written;
}

/** The bytes behind an address: the platform's own signed links from the store, all others by the safe client. */
async function open({ kernel, signal }: Caller, url: string): Promise<Readable> {
  const own = await openLink(kernel, url);
  if (own) {
    if (own.bytes > mostBytes) throw tooLarge();
    return own.body;
  }
  const answer = await kernel.outbound.request(url, { timeoutMs, maxBytes: mostBytes, signal });
  if (answer.truncated) throw tooLarge();
  if (answer.status !== 200) throw badRequest(`inputs: the server answered ${answer.status}`);
  return Readable.from([answer.body]);
}

const tooLarge = () => badRequest('inputs: a file is over 100 MiB');
