import type { Socket } from 'node:net';
import {
  encodeCredit,
  encodeFrame,
  encodeJson,
  type Frame,
  frameType,
  parseJson,
  windowBytes,
} from '../wire/frames.ts';
import type { EgressEnd, EgressEvent, EgressRequest } from '../wire/messages.ts';
import type { Dialed } from './dial.ts';
import { createGate, type Gate } from './gate.ts';
import type { ShimSpec } from './spec.ts';

/** Connections to the outside that one sandbox may have at once. */
const mostTunnels = 128;
/** An agent asks for a host of 253 characters at most, each of which JSON may spell with 6. */
const mostOpen = 4_096;
/** A guest that keeps to its window oversteps it by what a single read gave; another may not fill the memory. */
const mostUnread = 2 * windowBytes;

/** The connections that code inside asked for. */
export interface EgressTable {
  receive(frame: Frame): void;
}

interface Tunnel {
  gate: Gate;
  socket: Socket | undefined;
  /** Bytes that the guest still takes. */
  credit: number;
  /** Bytes of the guest that have not gone on. */
  unread: number;
  /** Bytes that came before the connection was there. */
  early: Buffer[];
}

/** Shared state of the connections of one sandbox. */
interface Shared {
  spec: ShimSpec;
  toGuest(frame: Buffer): void;
  tunnels: Map<number, Tunnel>;
  /** Connections that are being made, also for guests that gave them up. */
  dialing: number;
}

/** The way out of one sandbox: `spec.egress` is read anew for each connection. */
export function createEgress(spec: ShimSpec, toGuest: (frame: Buffer) => void): EgressTable {
  const shared: Shared = { spec, toGuest, tunnels: new Map(), dialing: 0 };
  return {
    receive({ channel, type, payload }) {
      if (type === frameType.open) {
        if (payload.length > mostOpen) toGuest(closing(channel, { reason: 'no host name' }));
        else void open(shared, channel, parseJson(payload)).catch(() => refuse(shared, channel, 'failed', true));
        return;
      }
      const tunnel = shared.tunnels.get(channel);
      if (!tunnel) return;
      if (type === frameType.data) {
        tunnel.unread += payload.length;
        if (tunnel.unread > mostUnread) refuse(shared, channel, 'more than the window', false);
        else if (tunnel.socket) pass(shared, channel, tunnel, Buffer.from(payload));
        else tunnel.early.push(Buffer.from(payload));
      } else if (type === frameType.eof) tunnel.socket?.end();
      else if (type === frameType.credit && payload.length === 4) {
        tunnel.credit = Math.min(windowBytes, tunnel.credit + payload.readUInt32BE(0));
        if (tunnel.credit > 0) tunnel.socket?.resume();
      } else if (type === frameType.close) {
        shared.tunnels.delete(channel);
        tunnel.socket?.destroy();
      }
    },
  };
}

const closing = (channel: number, end: EgressEnd): Buffer => encodeJson(channel, frameType.close, end);

function refuse(shared: Shared, channel: number, reason: string, failed: boolean): void {
  const tunnel = shared.tunnels.get(channel);
  if (!tunnel) return;
  shared.tunnels.delete(channel);
  tunnel.socket?.destroy();
  shared.toGuest(closing(channel, { reason, failed }));
}

/** `asked` is what the agent says: each field may be anything. */
async function open(
  shared: Shared,
  channel: number,
  asked: { [Field in keyof EgressRequest]?: unknown },
): Promise<void> {
  const { tunnels } = shared;
  const host = (typeof asked.host === 'string' ? asked.host : '').toLowerCase().replace(/\.$/, '');
  const tunnel: Tunnel = { gate: createGate(host), socket: undefined, credit: windowBytes, unread: 0, early: [] };
  tunnels.get(channel)?.socket?.destroy();
  tunnels.set(channel, tunnel);
  if (Math.max(tunnels.size, shared.dialing + 1) > mostTunnels)
    return refuse(shared, channel, 'too many connections', false);
  const dialed = await reach(shared, host, Number(asked.port));
  if ('reason' in dialed) {
    if (tunnels.get(channel) === tunnel) refuse(shared, channel, dialed.reason, dialed.failed);
    return;
  }
  if (tunnels.get(channel) !== tunnel) {
    dialed.socket.destroy();
    return;
  }
  tunnel.socket = dialed.socket;
  attach(shared, channel, tunnel, dialed.socket);
  const connected: EgressEvent = { connected: true };
  shared.toGuest(encodeJson(channel, frameType.event, connected));
  for (const bytes of tunnel.early.splice(0)) pass(shared, channel, tunnel, bytes);
}

async function reach(shared: Shared, host: string, port: number): Promise<Dialed> {
  shared.dialing += 1;
  try {
    // The rules and the resolver are loaded by the first connection: most sandboxes make none.
    const { dial } = await import('./dial.ts');
    return await dial(host, port, shared.spec.egress, shared.spec.rules);
  } finally {
    shared.dialing -= 1;
  }
}

function attach(shared: Shared, channel: number, tunnel: Tunnel, socket: Socket): void {
  const isCurrent = (): boolean => shared.tunnels.get(channel) === tunnel;
  socket.on('data', (bytes: Buffer) => {
    if (!isCurrent()) return;
    tunnel.credit -= bytes.length;
    shared.toGuest(encodeFrame(channel, frameType.data, bytes));
    if (tunnel.credit <= 0) socket.pause();
  });
  socket.on('end', () => {
    if (isCurrent()) shared.toGuest(encodeFrame(channel, frameType.eof, Buffer.alloc(0)));
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    if (isCurrent()) refuse(shared, channel, 'closed', true);
  });
}

/** Passes bytes of the guest on, as far as the gate lets them. */
function pass(shared: Shared, channel: number, tunnel: Tunnel, bytes: Buffer): void {
  const passed = tunnel.gate.pass(bytes);
  if (passed === undefined) return refuse(shared, channel, 'the name inside is another', false);
  // The gate bounds the bytes that it holds back itself; their credit is returned at once.
  const credit = (): void => {
    tunnel.unread -= bytes.length;
    if (shared.tunnels.get(channel) === tunnel) shared.toGuest(encodeCredit(channel, bytes.length));
  };
  if (passed.length === 0) credit();
  else tunnel.socket?.write(passed, credit);
}
