import { Forwarder } from '../../../kernel/forwarder/forwarder.ts';
import type { AskedName } from '../../../kernel/forwarder/names.ts';
import type { NameOwner, NameTarget } from '../../../kernel/forwarder/owners.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { hashOf, tokenOf } from './address.ts';
import { findPreview, validPreviews } from './previews.sql.ts';

/** The names of previews, at the listener that forwards for all owners of names. */
export class PreviewListener implements NameOwner {
  readonly name = 'sandboxes';
  readonly unreachable = 'The sandbox does not answer on this port.';
  readonly #kernel: Kernel;
  readonly #nodes: Nodes;
  readonly #forwarder: Forwarder;

  constructor(kernel: Kernel, nodes: Nodes, forwarder = new Forwarder(kernel)) {
    this.#kernel = kernel;
    this.#nodes = nodes;
    this.#forwarder = forwarder;
    forwarder.register(this);
  }

  /** Listens, with other owners of names; answers false when the port is taken. */
  listen(): Promise<boolean> {
    return this.#forwarder.listen();
  }

  /** Undefined while it does not listen. */
  get port(): number | undefined {
    return this.#forwarder.port;
  }

  /** Ends every connection, those of other owners too. */
  close(): Promise<void> {
    return this.#forwarder.close();
  }

  owns(asked: AskedName): boolean {
    return tokenOf(asked) !== undefined;
  }

  async find(asked: AskedName): Promise<NameTarget | undefined> {
    const { sql, clock } = this.#kernel;
    const { token, port: named } = tokenOf(asked) as { token: string; port?: number };
    const hash = hashOf(token);
    const row = await findPreview(sql, clock, hash);
    if (!row || (named !== undefined && named !== row.port)) return undefined;
    const { account_id: accountId, sandbox_id: sandboxId, node_id: nodeId, port, left_ms: leftMs } = row;
    return {
      id: hash.toString('hex'),
      accountId,
      place: sandboxId,
      port,
      leftMs,
      cookiePrefix: `p${token.slice(0, 8)}_`,
      dial: () => this.#nodes.whenThere(nodeId, (node) => node.connect(sandboxId, port)),
    };
  }

  stillValid(hashes: readonly string[]): Promise<string[]> {
    const { sql, clock } = this.#kernel;
    return validPreviews(sql, clock, hashes);
  }
}
