import type { Duplex } from 'node:stream';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type GiveBack, Share } from '../../kernel/share/share.ts';
import { openAtPeer } from './relay.peers.ts';
import { type Daemons, usableSeconds } from './relay.daemons.ts';
import { findPresence } from './relay.sql.ts';
import { offline, type Target } from './relay.tunnel.ts';

/**
 * Streams at a time (design: environments, The tunnel). A machine takes 256: one member has half of them at most, by however
 * many clients, or nobody else would get a terminal there.
 */
const places = { total: 4_096, ofOne: 512, of: { environment: 256, member: 128, client: 64 } };

/** Opens ports and terminals on the machines of environments, wherever their daemons hang. */
export class Streams {
  readonly #kernel: Kernel;
  readonly #daemons: Daemons;
  readonly #places = new Share(places);
  readonly #visits = new Set<object>();

  constructor(kernel: Kernel, daemons: Daemons) {
    this.#kernel = kernel;
    this.#daemons = daemons;
    kernel.metrics.gauge(
      'svc_relay_streams',
      'Streams to machines of environments that are open here',
      () => places.total - this.#places.open().total + this.#visits.size,
    );
  }

  /** Takes a place for a stream. Throws 429 when the account, the environment or the client has all of theirs. */
  place(accountId: string, environmentId: string, clientId: string): GiveBack {
    const giveBack = this.#places.take(accountId, {
      of: {
        environment: environmentId,
        member: `${environmentId}:${accountId}`,
        client: `${environmentId}:${clientId}`,
      },
    });
    if (giveBack) return giveBack;
    throw new ApiError('rate_limit_exceeded', 'too many streams are open; close some, or try again in a moment', {
      headers: { 'retry-after': '1' },
    });
  }

  /** Counts a stream of a visitor, whose place the forwarder dealt: it takes none of the account's. */
  visit(): GiveBack {
    const one = {};
    this.#visits.add(one);
    return () => this.#visits.delete(one);
  }

  /** Opens a stream. Throws 409 when the daemon is away, 403 when the machine refuses, 502 where nothing listens. */
  async open(environmentId: string, target: Target): Promise<Duplex> {
    const local = this.#daemons.local(environmentId);
    if (local) return local.open(target);
    const { sql, gateways } = this.#kernel;
    const row = await findPresence(sql, environmentId, usableSeconds);
    // Our own row may outlive its connection by a moment.
    if (!row?.is_online || row.instance_id === gateways.id) throw offline();
    return openAtPeer(this.#kernel, { peerUrl: row.peer_url, environmentId, target });
  }

  /** The same for another relay, which saw the daemon here: one hop, never two. */
  async openHere(environmentId: string, target: Target): Promise<Duplex> {
    const local = this.#daemons.local(environmentId);
    if (!local) throw offline();
    return local.open(target);
  }
}
