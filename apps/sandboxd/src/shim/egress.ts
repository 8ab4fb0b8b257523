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
import { createGate, type Gate } from './gate.ts';
import type { ShimSpec } from './spec.ts';

/** Connections to the outside that one sandbox may have at once. */
const mostTunnels = 128;

/** The connections that code inside asked for. */
export interface EgressTable {
  receive(frame: Frame): void;
}

interface Tunnel {
  gate: Gate;
  socket: Socket | undefined;
  /** Bytes that the guest still takes. */
  credit: number;
  /** What came before the connection was there. */
  early: Buffer[];
}

/** The way out of one sandbox: `spec.egress` is read anew for each connection. */
export function createEgress(spec: ShimSpec, toGuest: (frame: Buffer) => void): EgressTable {
  const tunnels = new Map<number, Tunnel>();

  const refuse = (channel: number, reason: string, failed: boolean): void => {
    const tunnel = tunnels.get(channel);
    if (!tunnel) return;
    tunnels.delete(channel);
    tunnel.socket?.destroy();
    toGuest(encodeJson(channel, frameType.close, { reason, failed }));
  };

  async function open(channel: number, asked: Record<string, unknown>): Promise<void> {
    const host = (typeof asked['host'] === 'string' ? asked['host'] : '').toLowerCase();
    const port = Number(asked['port']);
    const tunnel: Tunnel = { gate: createGate(host), socket: undefined, credit: windowBytes, early: [] };
    tunnels.set(channel, tunnel);
    if (tunnels.size > mostTunnels) return refuse(channel, 'too many connections', false);
    // The rules and the resolver are loaded by the first connection: most sandboxes make none.
    const { dial } = await import('./dial.ts');
    const dialed = await dial(host, port, spec.egress, spec.rules);
    if ('reason' in dialed) return refuse(channel, dialed.reason, dialed.failed);
    if (tunnels.get(channel) !== tunnel) {
      dialed.socket.destroy();
      return;
    }
    tunnel.socket = dialed.socket;
    attach(channel, tunnel, dialed.socket);
    toGuest(encodeJson(channel, frameType.event, { connected: true }));
    for (const bytes of tunnel.early.splice(0)) pass(channel, tunnel, bytes);
  }

  function attach(channel: number, tunnel: Tunnel, socket: Socket): void {
    socket.on('data', (bytes: Buffer) => {
      if (tunnels.get(channel) !== tunnel) return;
      tunnel.credit -= bytes.length;
      toGuest(encodeFrame(channel, frameType.data, bytes));
      if (tunnel.credit <= 0) socket.pause();
    });
    socket.on('end', () => {
      if (tunnels.get(channel) === tunnel) toGuest(encodeFrame(channel, frameType.eof, Buffer.alloc(0)));
    });
    socket.on('error', () => {});
    socket.on('close', () => refuse(channel, 'closed', true));
  }

  /** Passes bytes of the guest on, as far as the gate lets them. */
  function pass(channel: number, tunnel: Tunnel, bytes: Buffer): void {
    const passed = tunnel.gate.pass(bytes);
    if (passed === undefined) return refuse(channel, 'the name inside is another', false);
    // What the gate holds back is bounded by itself; its credit is returned at once.
    const credit = (): void => {
      if (tunnels.get(channel) === tunnel) toGuest(encodeCredit(channel, bytes.length));
    };
    if (passed.length === 0) credit();
    else tunnel.socket?.write(passed, credit);
  }

  return {
    receive({ channel, type, payload }) {
      if (type === frameType.open) {
        void open(channel, parseJson(payload)).catch(() => refuse(channel, 'failed', true));
        return;
      }
      const tunnel = tunnels.get(channel);
      if (!tunnel) return;
      if (type === frameType.data) {
        if (tunnel.socket) pass(channel, tunnel, Buffer.from(payload));
        else tunnel.early.push(Buffer.from(payload));
      } else if (type === frameType.eof) tunnel.socket?.end();
      else if (type === frameType.credit) {
        tunnel.credit += payload.readUInt32BE(0);
        if (tunnel.credit > 0) tunnel.socket?.resume();
      } else if (type === frameType.close) {
        tunnels.delete(channel);
        tunnel.socket?.destroy();
      }
    },
  };
}
