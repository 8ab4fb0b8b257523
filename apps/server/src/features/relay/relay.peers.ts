import { timingSafeEqual } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocket } from 'ws';
import type { Clock } from '../../kernel/base/clock.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Target } from './relay.tunnel.ts';

/** How long what one relay signed may be shown to another. */
const signedMs = 30_000;
const openMs = 10_000;
/** Of one message, and of those that wait for either side. */
export const mostBytes = 1024 * 1024;
const mostRefusalBytes = 4 * 1024;
const purpose = 'relay-peer';
const unavailable = (): ApiError =>
  new ApiError('unavailable', 'the relay that has this machine does not answer; try again', {
    headers: { 'retry-after': '1' },
  });

/** What the other relay is asked for, as its query says it. */
const queryOf = (target: Target): string =>
  new URLSearchParams(
    target.kind === 'port'
      ? { kind: 'port', port: String(target.port), published: target.isPublished ? '1' : '0' }
      : {
          kind: 'terminal',
          cols: String(target.cols),
          rows: String(target.rows),
          ...(target.linuxUser !== undefined && { linux_user: target.linuxUser }),
        },
  ).toString();

const macOf = (kernel: Pick<Kernel, 'keyring'>, environmentId: string, target: Target, until: string): string =>
  kernel.keyring.mac(purpose, `${environmentId} ${queryOf(target)} ${until}`).toString('base64url');

/** The proof that a relay of this installation asks. */
function sign(kernel: Pick<Kernel, 'keyring' | 'clock'>, environmentId: string, target: Target): string {
  const until = String(kernel.clock.now() + signedMs);
  return `${until}.${macOf(kernel, environmentId, target, until)}`;
}

/** Whether a proof is one of another relay of this installation, for this and for now. */
export function isOfPeer(
  kernel: Pick<Kernel, 'keyring' | 'clock'>,
  environmentId: string,
  target: Target,
  proof: string,
): boolean {
  const [until = '', mac = ''] = proof.split('.', 2);
  const expected = Buffer.from(macOf(kernel, environmentId, target, until));
  const given = Buffer.from(mac);
  const left = Number(until) - kernel.clock.now();
  return given.length === expected.length && timingSafeEqual(given, expected) && left > 0 && left <= 2 * signedMs;
}

/** Opens something on a machine that hangs on another relay: one hop, never two. */
export async function openAtPeer(
  kernel: Pick<Kernel, 'keyring' | 'clock' | 'config'>,
  { peerUrl, environmentId, target }: { peerUrl: string; environmentId: string; target: Target },
): Promise<Duplex> {
  const { pathname } = new URL(kernel.config.relayUrl);
  const url = `${peerUrl}${pathname.replace(/\/$/, '')}/v1/environments/${environmentId}/join?${queryOf(target)}`;
  const socket = new WebSocket(url.replace(/^http/, 'ws'), {
    headers: { 'x-svc-relay-peer': sign(kernel, environmentId, target) },
    perMessageDeflate: false,
    maxPayload: mostBytes,
    handshakeTimeout: openMs,
  });
  // Before it is open, or its first bytes are lost.
  const duplex = createWebSocketStream(socket, { readableHighWaterMark: mostBytes, writableHighWaterMark: mostBytes });
  duplex.on('error', () => {});
  await opened(kernel.clock, socket);
  return duplex;
}

function opened(clock: Clock, socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: ApiError): void => {
      reject(error);
      socket.terminate();
    };
    const cancel = clock.after(openMs, () => fail(unavailable()));
    socket.once('open', () => {
      cancel();
      resolve();
    });
    socket.once('error', () => fail(unavailable()));
    socket.once('unexpected-response', (_request, response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (chunk: string) => {
        if (text.length < mostRefusalBytes) text += chunk;
      });
      response.once('close', () => fail(refusalOf(text)));
    });
    socket.once('close', () => {
      cancel();
      fail(unavailable());
    });
  });
}

/** The other relay's refusal, in its words. */
function refusalOf(text: string): ApiError {
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    for (const code of ['daemon_offline', 'upstream_error', 'forbidden', 'rate_limit_exceeded'] as const)
      if (error.code === code) return new ApiError(code, error.message);
  } catch {
    // It is no answer of ours.
  }
  return unavailable();
}
