import { randomUUID } from 'node:crypto';
import { type NodeClient, NodeFailure, type SandboxState } from '@svc/sandboxd-api';
import { bySystem } from '../../kernel/records/audit.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import type { Deleting } from '../../kernel/deletion.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { endSpansOf } from '../metering/index.ts';
import { finishIn, forgetCreation, moveSandbox } from './sandboxes.moves.ts';
import { aheadText, takeTurn } from './nodes/fence.ts';
import { openNode } from './nodes/beside.ts';
import { type Node, type Nodes, ownerOf } from './nodes/nodes.ts';
import {
  abandonedCreations,
  dueSandboxes,
  insertAudit,
  isAnyDue,
  liveOfAccount,
  notLive,
  runningOfSuspended,
  type SandboxRow,
  type SuspendedRow,
  sandboxesOfNode,
  takeAbandoned,
} from './sandboxes.sql.ts';

const lookEveryMs = 1_000;
/** The nodes are asked what they hold. */
const reconcileEveryMs = 5_000;
const mostAtOnce = 100;
/** When nobody has reached a node for this long, from when it counted as gone, its sandboxes count as ended. */
const nodeGoneMs = 60_000;
/** At its stop the gateway waits this long for pauses and ends of suspended accounts' sandboxes. */
const endingMs = 5_000;
/** A move that takes this long has lost its gateway: an image may be waited for, and a snapshot of GiBs written. */
const moveLostMs = 240_000;

/** Keeps rows and nodes together: expires, and settles what died halfway. Every process has one. */
export class Keeper {
  readonly #kernel: Kernel;
  readonly #nodes: Nodes;
  /**
   * By sandbox: the pauses and ends of suspended accounts that are under way. Nobody waits for them, so a node that hangs
   * holds back no other. As many as run, which the places of the nodes limit.
   */
  readonly #ending = new Map<string, Promise<void>>();
  #isStopping = false;
  #looking: Loop | undefined;
  #reconciling: Loop | undefined;

  constructor(kernel: Kernel, nodes: Nodes) {
    this.#kernel = kernel;
    this.#nodes = nodes;
  }

  /**
   * Looks for the nodes first, so that the first request finds them. Every gateway settles what its nodes hold; only processes
   * that work (`works`) do what is due by the clock.
   */
  async start(works = true): Promise<void> {
    await this.#nodes.open(works);
    await this.#nodes.refresh().catch((err: unknown) => this.#kernel.log.warn({ err }, 'no sandbox node was asked'));
    const look = () => this.tick();
    const reconcile = () => this.reconcile();
    if (works) this.#looking = startLoop(this.#kernel, { name: 'sandboxes.keeper', everyMs: lookEveryMs, work: look });
    // A loop of its own: a node that hangs must not delay what expires.
    this.#reconciling = startLoop(this.#kernel, {
      name: 'sandboxes.reconcile',
      everyMs: reconcileEveryMs,
      work: reconcile,
    });
  }

  /** Lets what is under way end. */
  async stop(): Promise<void> {
    await Promise.all([this.#looking?.stop(), this.#reconciling?.stop()]);
    this.#isStopping = true;
    const late = Promise.withResolvers<void>();
    const cancel = this.#kernel.clock.after(endingMs, late.resolve);
    await Promise.race([late.promise, this.#ended()]);
    cancel();
    // What waits for a node fails now; its row follows the node later.
    this.#nodes.close();
    await this.#ended();
  }

  /** Waits until no sandbox of a suspended account is on its way to an end. */
  async #ended(): Promise<void> {
    while (this.#ending.size > 0) await Promise.all(this.#ending.values());
  }

  /** One look: those past their lifetime, and commands that nobody holds on to. */
  async tick(): Promise<void> {
    if (await isAnyDue(this.#kernel.sql, this.#kernel.clock)) {
      // First: a command of a gateway that is gone ended by then, however long nobody was there to expire its sandbox.
      await this.#freeAbandoned();
      await this.#expire();
      await this.#endSuspended();
    }
    // Without a node nothing can start: look for one at every turn.
    if (this.#nodes.all().length === 0) this.#reconciling?.wake();
  }

  async #expire(): Promise<void> {
    const due = await dueSandboxes(this.#kernel.sql, this.#kernel.clock, mostAtOnce);
    await Promise.all(
      due.map(async ({ id, node_id }) => {
        if (!(await moveSandbox(this.#kernel, id, 'expire', { by: bySystem }))) return;
        // The node ends it by its own timer too, and is asked again while it still holds it.
        void this.#destroy(node_id, id);
      }),
    );
  }

  /** Ends running sandboxes of suspended accounts: a v2 sandbox is paused while nothing runs in it, any other ends. */
  async #endSuspended(): Promise<void> {
    const { sql, log } = this.#kernel;
    for (const row of await runningOfSuspended(sql, mostAtOnce)) {
      const { id } = row;
      if (this.#ending.has(id)) continue;
      const ending = this.#endOf(row)
        .catch((err: unknown) => log.warn({ err, sandbox: id }, 'a sandbox of a suspended account is ended later'))
        .finally(() => this.#ending.delete(id));
      this.#ending.set(id, ending);
    }
  }

  async #endOf(row: SuspendedRow): Promise<void> {
    if (row.backend === 'v2' && !row.deleting && (await this.#pause(row))) return;
    // The pause failed because this process stops; the next one ends it.
    if (this.#isStopping) return;
    if (await moveSandbox(this.#kernel, row.id, 'stop', { by: bySystem, seen: 'running', reason: 'suspended' })) {
      await this.#destroy(row.node_id, row.id);
    }
  }

  async #pause({ id, account_id: accountId, node_id: nodeId }: SuspendedRow): Promise<boolean> {
    const { sql, log } = this.#kernel;
    if (!(await moveSandbox(this.#kernel, id, 'pause', { by: bySystem }))) return false;
    try {
      const node = this.#nodes.of(nodeId);
      // Nothing of the account runs on; what memory cannot be saved is lost, and its files are not.
      const paused = await node.pause(id).catch((error: unknown) => {
        if (error instanceof NodeFailure && error.code === 'memory_not_saved') return node.pause(id, true);
        throw error;
      });
      const given = { by: bySystem, snapshotBytes: paused.snapshot_bytes, detail: () => paused };
      await inTransaction(sql, (tx) => finishIn(tx, this.#kernel, { accountId, id }, 'paused', given));
      return true;
    } catch (err) {
      log.warn({ err, sandbox: id }, 'a sandbox of a suspended account was not paused; it is ended');
      await moveSandbox(this.#kernel, id, 'keepRunning', { by: bySystem });
      return false;
    }
  }

  /** The time of a command whose gateway died counts as long as it held its sandbox; the node ended it by then. */
  async #freeAbandoned(): Promise<void> {
    const { sql, clock } = this.#kernel;
    await inTransaction(sql, async (tx) => {
      for (const { id, account_id, busy_until } of await takeAbandoned(tx, clock, mostAtOnce)) {
        await endSpansOf(tx, clock, id, ['exec_v1', 'exec_v2'], busy_until);
        const line = { accountId: account_id, by: bySystem, sandboxId: id, action: 'command_lost' };
        await insertAudit(tx, { ...line, detail: { until: busy_until } });
      }
    });
  }

  async #destroy(nodeId: string | null, id: string): Promise<void> {
    try {
      await this.#nodes.of(nodeId).destroy(id);
    } catch (err) {
      this.#kernel.log.warn({ err, sandbox: id }, 'a sandbox that is over was not removed; it is tried again');
    }
  }

  /** Makes rows follow what the nodes hold, and nodes drop what is over, and after a day what no row has stood for. */
  async reconcile(): Promise<void> {
    const { sql, clock, log } = this.#kernel;
    for (const { id, missingMs, seenAt } of await this.#nodes.refresh()) {
      if (missingMs < nodeGoneMs) continue;
      for (const row of await sandboxesOfNode(sql, clock, id)) {
        // Snapshots are files: a paused one is there when its machine is.
        if (row.state === 'running') {
          const given = { by: bySystem, seen: row.state, at: seenAt, reason: 'node_lost' as const };
          await moveSandbox(this.#kernel, row.id, 'stop', given);
        } else if (row.state === 'creating') await this.#nodes.unknown.giveUp(row.id);
      }
    }
    for (const { id } of await abandonedCreations(sql, clock, moveLostMs)) await this.#nodes.unknown.giveUp(id);
    // One that is late is asked again in a moment; what fails at one holds back no other.
    const follow = (node: Node): Promise<void> =>
      this.#reconcileNode(node).catch((err: unknown) => log.warn({ err, node: node.id }, 'a node is looked at later'));
    await Promise.all(this.#nodes.answering().map(follow));
  }

  async #reconcileNode(node: Node): Promise<void> {
    const { sql, clock } = this.#kernel;
    // Rows first: one that is made meanwhile is held before it is asked for, never the other way round.
    const rows = await sandboxesOfNode(sql, clock, node.id);
    const all = await node.client.list();
    const held = new Map(all.filter((state) => state.owner === node.owner).map((state) => [state.id, state]));
    this.#nodes.heard(node.id, held.values());
    const unseen = this.#nodes.unseenSince(node.id);
    for (const row of rows) {
      await this.#follow(row, held.get(row.id), unseen);
      await this.#nodes.unknown.isKnown(node, held.get(row.id));
    }
    this.#nodes.forgetUnseen(node.id, unseen);
    const others = [...held.keys()].filter((id) => !rows.some((row) => row.id === id));
    for (const { id, isKnown } of await notLive(sql, others)) {
      const state = held.get(id);
      if (isKnown || (state && (await this.#nodes.unknown.isOver(node, state)))) await this.#destroy(node.id, id);
    }
  }

  /** A row that no gateway moves follows its node; what ended while nobody looked ended when it was seen last. */
  async #follow(
    row: SandboxRow & { idle_ms: number },
    held: SandboxState | undefined,
    unseen: string | undefined,
  ): Promise<void> {
    const { state } = row;
    const goal = { pausing: 'paused', resuming: 'running', creating: undefined }[state as string];
    const isMoving = state === 'creating' || goal !== undefined;
    // One whose node is done waits for its gateway no longer than any other: both may write the end.
    const isDone = goal !== undefined && held?.status === goal;
    if (row.idle_ms < (isMoving && !isDone ? moveLostMs : lookEveryMs * 2)) return;
    if (state === 'creating') {
      // Nobody knows of it: its creation was never answered.
      await this.#nodes.unknown.giveUp(row.id);
      await this.#destroy(row.node_id, row.id);
    } else if (!held || held.status === 'stopped') {
      const name = held?.reason === 'expired' ? 'expireOnNode' : 'stop';
      await moveSandbox(this.#kernel, row.id, name, { by: bySystem, seen: state, at: unseen });
    } else if (held.status === 'running' && state !== 'running') await this.#becomeRunning(row);
    else if (held.status === 'paused' && state !== 'paused') await this.#becomePaused(row, held.snapshot_bytes ?? 0);
  }

  /** One whose pause came to nothing was running all the time; one that was paused runs from now on. */
  async #becomeRunning({ id, node_id, state }: SandboxRow): Promise<void> {
    const name = state === 'pausing' ? 'keepRunning' : 'resumed';
    const moved = await moveSandbox(this.#kernel, id, name, { by: bySystem, seen: state });
    if (moved) await this.#nodes.of(node_id).change(id, { expires_at: Date.parse(moved.expires_at) });
  }

  /** One whose resume came to nothing was paused all the time, its lifetime frozen since then. */
  async #becomePaused({ id, state }: SandboxRow, bytes: number): Promise<void> {
    const name = state === 'resuming' ? 'keepPaused' : 'paused';
    const detail = () => ({ snapshot_bytes: bytes });
    await moveSandbox(this.#kernel, id, name, { by: bySystem, seen: state, snapshotBytes: bytes, detail });
  }
}

const endedAtOnce = 4;

/**
 * Ends every sandbox of an account, its processes, workspaces and snapshots on the nodes included. `left` are those whose
 * node did not answer: it drops them a day after a gateway has asked it what it holds.
 */
export async function endOfAccount(parts: Deleting, accountId: string): Promise<{ ended: number; left: number }> {
  const [owner, holder] = [await ownerOf(parts.sql), randomUUID()];
  const clients = new Map<string, NodeClient>();
  const fenced = new Map<string, Promise<boolean>>();
  type Place = { id: string; address: string; incarnation: string | null };
  const clientOf = async ({ id, address, incarnation }: Place): Promise<NodeClient> => {
    const client = clients.get(address) ?? openNode(address);
    clients.set(address, client);
    const isOurs =
      fenced.get(address) ??
      isNode(client, id, incarnation).then(() => takeTurn(parts.sql, { id, client, owner, holder }));
    fenced.set(address, isOurs);
    if (!(await isOurs)) throw new Error(aheadText);
    return client;
  };
  const counts = { ended: 0, left: 0 };
  try {
    const waiting = await liveOfAccount(parts.sql, accountId);
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const { id, state, node_id: nodeId, address, incarnation } = next;
        // Delete the row first: if this process dies, the node removes sandboxes without a row.
        if (state === 'creating') await forgetCreation(parts.sql, id);
        else await moveSandbox(parts, id, 'destroy', { by: bySystem });
        const client = nodeId === null || address === null ? undefined : clientOf({ id: nodeId, address, incarnation });
        const isGone = client === undefined || (await isDestroyed(parts, client, id));
        counts[isGone ? 'ended' : 'left'] += 1;
      }
    };
    await Promise.all(Array.from({ length: endedAtOnce }, work));
  } finally {
    for (const client of clients.values()) client.close();
  }
  return counts;
}

/** Throws where another node answers: the address is a path on the machine of the one that is meant, and ids are cloned. */
async function isNode(client: NodeClient, id: string, incarnation: string | null): Promise<void> {
  const found = await client.node();
  if (found.id !== id || (found.incarnation ?? incarnation) !== (incarnation ?? found.incarnation))
    throw new Error('the node of this sandbox is on another machine');
}

async function isDestroyed({ log }: Deleting, client: Promise<NodeClient>, id: string): Promise<boolean> {
  try {
    await (await client).destroy(id);
    return true;
  } catch (err) {
    if (err instanceof NodeFailure && err.code === 'no_sandbox') return true;
    log.warn({ err, sandbox: id }, 'a sandbox is removed later');
    return false;
  }
}
