import type { Duplex } from 'node:stream';
import { frameOf, FrameReader, kinds } from '@svc/tunnel';
import { terminalRequest } from '@svc/contract';
import { NodeError } from '../error.ts';
import { refusalOf, tooLarge, watchWorkspace } from './commands.ts';
import { type Context, entryOf, environmentOf } from './context.ts';
import { openStream } from './ports.ts';

/** Terminals of one sandbox at a time. */
const mostTerminals = 8;

/**
 * Opens a login shell on a pty inside: frames of `@svc/tunnel`, bytes both ways, sizes in, how it ended last. It runs beside
 * commands; what it runs counts towards the limits of the sandbox.
 */
export async function openTerminal(
  context: Context,
  id: string,
  size: { cols: number; rows: number },
): Promise<Duplex> {
  const entry = entryOf(context, id);
  if (entry.terminals >= mostTerminals)
    throw new NodeError('sandbox_busy', `${mostTerminals} terminals of this sandbox are open; close one`);
  entry.terminals++;
  const reader = new FrameReader();
  try {
    const stream = await openStream<'terminal'>(context, id, {
      request: { kind: 'terminal', ...size, env: environmentOf(context, entry) },
      read: (bytes) => frameOf(kinds.bytes, bytes),
      write(chunk, channel) {
        let isRoom = true;
        for (const { kind, payload } of reader.read(chunk)) {
          if (kind === kinds.bytes) isRoom = channel.write(payload);
          else channel.event(terminalRequest.parse(JSON.parse(payload.toString())));
        }
        return isRoom;
      },
      last: ({ exit_code, signal }) => frameOf(kinds.json, Buffer.from(JSON.stringify({ exit_code, signal }))),
      refusal: ({ error }, isLost) =>
        isLost || !error ? new NodeError('sandbox_not_running', 'the sandbox ended') : refusalOf(olderOr(error)),
    });
    const rest = watchWorkspace(context.workspaces, entry.record.instance, () => {
      const text = `\r\nsvc: ${tooLarge(context).message}: this terminal is closed\r\n`;
      stream.push(frameOf(kinds.bytes, Buffer.from(text)));
      stream.destroy();
    });
    stream.once('close', () => {
      entry.terminals--;
      rest();
    });
    return stream;
  } catch (error) {
    entry.terminals--;
    throw error;
  }
}

/** A sandbox keeps the agent that it was started with. */
const olderOr = (error: { code: string; message: string }) =>
  error.code === 'bad_request'
    ? { code: 'bad_request', message: 'this sandbox was started by an older release, which has no terminals' }
    : error;
