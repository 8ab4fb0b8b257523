import { randomBytes } from 'node:crypto';
import {
  type Backend,
  type EndedProcess,
  type NodeClient,
  NodeFailure,
  type NodeStatus,
  type SandboxState,
  type Template,
} from '@svc/sandboxd-api';
import type { Sql } from '../../../kernel/db/db.ts';
import { readOrCreateFact } from '../../../kernel/db/facts.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { idleLimitMs, type PartPresence } from '../../../kernel/peers/parts.ts';
import { addressBeside, mayHaveNode, openNode, socketOf } from './beside.ts';
import { CallersCommands } from './callers.ts';
import { Clones, cloneText } from './clones.ts';
import { countClones } from './clones.sql.ts';
import { Elsewhere, elsewhere, refusedFix, refusedText } from './elsewhere.ts';
import { nodeAway, noCapacity } from './failures.ts';
import { aheadFix, aheadText, takeTurn } from './fence.ts';
import { aheadOf } from './fence.sql.ts';
import { listNodes, type NodeRow, noteMissing, saveNode } from './nodes.sql.ts';
import { NodeRefused, Lateness, patienceMs } from './lateness.ts';
import { Unknown } from './unknown.ts';

/** The node beside a gateway starts with it, and answers a second or two later. */
const startingMs = 20_000;
const askAgainMs = 200;
/** A node that ended is started again within a second or two. */
const restartingMs = 8_000;

/** As what this installation is known to nodes. */
export const ownerOf = async (sql: Sql): Promise<string> =>
  (await readOrCreateFact(sql, 'installation', () => randomBytes(16))).toString('hex');

/** A node that answered a moment ago, or is late with an answer. */
export interface Node {
  id: string;
  client: NodeClient;
  /** As what this installation is known to it. */
  owner: string;
  status: NodeStatus;
  /** It gets no new sandbox: they go to this other machine. */
  refusedFor: string | undefined;
}

/** The nodes that this gateway reaches: the one beside it, and those in the database. */
export class Nodes {
  readonly commands: CallersCommands;
  readonly unknown: Unknown;
  readonly #kernel: Kernel;
  readonly #clients = new Map<string, NodeClient>();
  readonly #known = new Map<string, Node>();
  readonly #lateness: Lateness;
  readonly #unseen = new Map<string, string>();
  /** Nodes at which another platform is ahead: known to none of what follows. */
  readonly #ahead = new Set<string>();
  readonly #elsewhere = new Elsewhere();
  readonly #clones: Clones;
  /** By address: the process of a node that answered there last. */
  readonly #incarnations = new Map<string, { id: string; incarnation: string | undefined }>();
  /** Nodes that this process has reached once. */
  readonly #reached = new Set<string>();
  /** By node, and by sandbox: what each said last. */
  readonly #ended = new Map<string, Map<string, EndedProcess[]>>();
  #looked: { all: number; away: number; lost: number; refused: number; refusedOfDay: number } | undefined;
  #owner = '';
  #works = false;
  #openedAt = 0;
  /** One question to all nodes, for everybody who waits for one. */
  #asking: Promise<unknown> | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.commands = new CallersCommands(kernel);
    this.unknown = new Unknown(kernel);
    this.#lateness = new Lateness(kernel.clock);
    this.#clones = new Clones(kernel);
  }

  /** Names this installation to the nodes, which may hold sandboxes of others too. `works`: this process does what is due. */
  async open(works = false): Promise<void> {
    this.#works = works;
    this.#owner = await ownerOf(this.#kernel.sql);
    this.#openedAt = this.#kernel.clock.monotonic();
  }

  /** Settles once a node is known; at once where none is to come, and never long after the start. */
  async some(): Promise<void> {
    const { clock } = this.#kernel;
    const mayCome = mayHaveNode(this.#kernel);
    while (this.#known.size === 0) {
      await this.refresh();
      const isRefused = this.#ahead.size > 0 || this.#clones.isAny;
      if (this.#known.size > 0 || isRefused || !mayCome || clock.monotonic() - this.#openedAt > startingMs) return;
      await new Promise<void>((resolve) => clock.after(askAgainMs, resolve));
    }
  }

  /** Asks every node how it is; answers for how long each unreachable one has been so, and when it was seen last. */
  async refresh(): Promise<{ id: string; missingMs: number; seenAt: string | undefined }[]> {
    const { sql, clock } = this.#kernel;
    const own = addressBeside(this.#kernel);
    await this.#ask(own).catch(() => undefined);
    const missing: { id: string; missingMs: number; seenAt: string | undefined }[] = [];
    const expected = { all: 0, away: 0, lost: 0 };
    const rows = await listNodes(sql, clock);
    const isSetToNone = !mayHaveNode(this.#kernel);
    const isExpected = (row: NodeRow): boolean => row.expected && (row.holds || !(isSetToNone && this.#isHere(row)));
    for (const row of rows) {
      const { id, address } = row;
      if (this.#known.get(id)?.client.socketPath === socketOf(address) && address === own) continue;
      const answered = await this.#askFor(row, own).catch(() => undefined);
      // One that is late is known on.
      if (answered?.id === id || this.#known.has(id) || this.#ahead.has(id)) continue;
      const found = await noteMissing(sql, clock, id, this.#reached.has(id));
      if (!found) {
        this.#lateness.forget(id);
        continue;
      }
      const missingMs = Math.min(this.#lateness.missedMs(id), found.ms);
      missing.push({ id, missingMs, seenAt: found.seenAt });
      if (isExpected(row)) expected.away += 1;
      if (isExpected(row) && this.#isLost(id, missingMs)) expected.lost += 1;
    }
    expected.all = rows.filter(isExpected).length;
    const refused = rows.filter((row) => row.refused);
    const clones = await countClones(sql, clock);
    if (clones.now === 0) this.#clones.forget();
    await this.#forgetSettled();
    this.#looked = {
      ...expected,
      refused: refused.filter(({ seen }) => seen).length + clones.now,
      refusedOfDay: refused.filter(({ recent }) => recent).length + clones.ofDay,
    };
    this.#elsewhere.look(rows, this.#kernel.machine.id, (id) => this.#known.has(id) || this.#reached.has(id));
    return missing;
  }

  /** One that was given up, or that somebody decided about, is refused no more, though it may answer nobody. */
  async #forgetSettled(): Promise<void> {
    if (this.#ahead.size === 0) return;
    const ahead = new Set(await aheadOf(this.#kernel.sql, [...this.#ahead]));
    for (const id of this.#ahead) if (!ahead.has(id)) this.#ahead.delete(id);
  }

  /**
   * Asks at the address of a row. The path of another machine may be that of another node here, which is not taken for it; the
   * machine may be this one before it was started anew.
   */
  async #askFor(row: NodeRow, own: string): Promise<Node | undefined> {
    const { id, address, seen } = row;
    if (this.#isHere(row)) return this.#ask(address);
    return address === own || seen ? undefined : this.#ask(address, id);
  }

  #isHere({ machine }: NodeRow): boolean {
    return machine === null || machine === this.#kernel.machine.id;
  }

  /** Nobody has reached it for 40 s. One that this process never reached was missed by others before. */
  #isLost(id: string, missingMs: number): boolean {
    if (this.#reached.has(id)) return this.#lateness.missedMs(id) >= idleLimitMs;
    const openMs = this.#kernel.clock.monotonic() - this.#openedAt;
    return missingMs >= idleLimitMs - patienceMs && openMs >= idleLimitMs;
  }

  /**
   * Nodes that belong to the platform and have answered nobody for 40 s, and refused ones, now and within a day; undefined before
   * the first look.
   */
  counts(): { lost: number; refused: number; refusedOfDay: number } | undefined {
    return this.#looked && { ...this.#looked, refused: this.#looked.refused + this.#ahead.size };
  }

  /**
   * Why this process does not use a node that answers, as it heard a moment ago: another platform is ahead there, or the
   * node is a clone. Undefined: it heard of neither. A node that is away is no such one.
   */
  refusal(): string | undefined {
    if (this.#ahead.size > 0) return aheadText;
    return this.#clones.isAny ? cloneText : undefined;
  }

  /** Whether the nodes that the platform has had within a day are there; undefined while that is not known. */
  presence(): PartPresence | undefined {
    if (!this.#looked) return undefined;
    const { all, away, lost } = this.#looked;
    if (all === 0) return 'none';
    if (lost > 0) return 'missing';
    return away > 0 || this.refusal() !== undefined ? undefined : 'there';
  }

  /** The client of the node that holds a sandbox; right after a start it is waited for. */
  async reach(nodeId: string | null): Promise<NodeClient> {
    const { clock } = this.#kernel;
    const isAwaited = (): boolean =>
      nodeId !== null &&
      !this.#known.has(nodeId) &&
      !this.#elsewhere.has(nodeId) &&
      clock.monotonic() - this.#openedAt <= startingMs;
    while (isAwaited()) {
      await this.refresh();
      if (isAwaited()) await new Promise<void>((resolve) => clock.after(askAgainMs, resolve));
    }
    return this.of(nodeId);
  }

  /**
   * Does something with the node that holds a sandbox. One that is away is asked again for a few seconds: it may be starting
   * anew, and its sandboxes run on. `work` must have done nothing when it finds the node away.
   */
  async whenThere<T>(nodeId: string | null, work: (node: NodeClient) => Promise<T>): Promise<T> {
    const { clock } = this.#kernel;
    const until = clock.monotonic() + restartingMs;
    for (;;) {
      try {
        return await work(await this.reach(nodeId));
      } catch (error) {
        const isAway = error instanceof NodeFailure ? error.code === 'unreachable' : error instanceof ApiError;
        const isElsewhere = nodeId !== null && this.#elsewhere.has(nodeId);
        if (!isAway || nodeId === null || isElsewhere || clock.monotonic() >= until) throw error;
      }
      await new Promise<void>((resolve) => clock.after(askAgainMs, resolve));
      this.#asking ??= this.refresh()
        .catch(() => undefined)
        .finally(() => {
          this.#asking = undefined;
        });
      await this.#asking;
    }
  }

  /** The client of the node that holds a sandbox, as far as it is known now. */
  of(nodeId: string | null): NodeClient {
    const node = nodeId === null ? undefined : this.#known.get(nodeId);
    if (!node && nodeId !== null && this.#ahead.has(nodeId)) throw noCapacity(`${aheadText}; ${aheadFix}`);
    if (!node && nodeId !== null && this.#elsewhere.has(nodeId)) throw elsewhere();
    if (!node) throw nodeAway();
    return node.client;
  }

  all(): Node[] {
    return [...this.#known.values()];
  }

  /** Those that answered the last time they were asked. */
  answering(): Node[] {
    return this.all().filter(({ id }) => !this.#lateness.misses(id));
  }

  /** Since when nobody saw a node that is back, until its sandboxes were looked at. */
  unseenSince(id: string): string | undefined {
    return this.#unseen.get(id);
  }

  forgetUnseen(id: string, since: string | undefined): void {
    if (this.#unseen.get(id) === since) this.#unseen.delete(id);
  }

  /** The node with most room for such a sandbox, one that is late only where no other can have it; undefined when none can. */
  place(backend: Backend, template: Template): Node | undefined {
    const canHave = ({ status, refusedFor }: Node): boolean =>
      refusedFor === undefined && status.backends[backend].available;
    const answering = this.answering().filter(canHave);
    // One that was full a moment ago is the last choice: it knows best, and refuses.
    const fit = answering.length > 0 ? answering : this.all().filter(canHave);
    const room = ({ status }: Node): number =>
      status.slots.total -
      status.slots.used +
      (status.images.some((i) => i.template === template && i.state === 'ready') ? 1000 : 0);
    return fit.sort((a, b) => room(b) - room(a))[0];
  }

  /** Whether new sandboxes go to a machine that this process does not reach; `hasWorker`: what is due is done there. */
  get areElsewhere(): { hasWorker: boolean } | undefined {
    const hasOwn = this.all().some(({ refusedFor }) => refusedFor === undefined);
    return hasOwn || !this.#elsewhere.isAll ? undefined : { hasWorker: this.#elsewhere.hasWorker };
  }

  /** Why no node can have such a sandbox, and what to do about it. */
  whyNot(backend: Backend): string {
    const reasons = this.all().map(({ status }) => status.backends[backend]);
    if (reasons.length === 0 && this.#ahead.size > 0) return `${aheadText}; ${aheadFix}`;
    if (reasons.length === 0) return 'no sandbox node answers here: see ./svc doctor';
    return (
      reasons.find((each) => !each.available)?.reason ?? 'every place for a sandbox is taken; try again in a moment'
    );
  }

  /** Keeps what a node said of processes that ended right after a restore. */
  heard(id: string, states: Iterable<SandboxState>): void {
    const told = new Map<string, EndedProcess[]>();
    for (const state of states) if (state.ended_after_resume) told.set(state.id, state.ended_after_resume);
    this.#ended.set(id, told);
  }

  /** The processes of a sandbox that ended right after it was restored last, as far as its node has told. */
  endedAfterResume(row: { id: string; node_id: string | null }): EndedProcess[] | undefined {
    return this.#ended.get(row.node_id ?? '')?.get(row.id);
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  /** Has the node hear this platform's next turn; throws where another one is ahead. */
  async #take(node: Node): Promise<void> {
    const { sql, log, gateways } = this.#kernel;
    if (await takeTurn(sql, { ...node, holder: gateways.id })) return void this.#ahead.delete(node.id);
    if (!this.#ahead.has(node.id)) log.error({ node: node.id }, `${aheadText}; ${aheadFix}`);
    this.#ahead.add(node.id);
    throw new OtherAhead();
  }

  /** Tells operators, once each, that a node is refused, and that it is not any more. */
  #noteRefusal({ id, refusedFor }: Node): void {
    const { log, machine } = this.#kernel;
    const before = this.#known.get(id)?.refusedFor;
    if (refusedFor === before) return;
    if (refusedFor !== undefined) log.error({ node: id }, `${refusedText(machine.name, refusedFor)}; ${refusedFix}`);
    else log.info({ node: id }, 'the node of this machine gets new sandboxes');
  }

  /** `only`: another node at this address is not taken for the one that is meant. */
  async #ask(address: string, only?: string): Promise<Node> {
    const { sql, clock } = this.#kernel;
    let client = this.#clients.get(address);
    if (!client) {
      client = openNode(address);
      this.#clients.set(address, client);
    }
    const known = [...this.#known.values()].find((node) => node.client === client);
    const askedAt = clock.monotonic();
    try {
      const status = await client.node();
      if (only !== undefined && status.id !== only) throw nodeAway();
      if (known && known.id !== status.id) this.#known.delete(known.id);
      const { machine } = this.#kernel;
      const { id, incarnation, earlier = [] } = status;
      const seen = this.#incarnations.get(address);
      const claim = {
        id,
        address,
        machine,
        incarnation,
        earlier,
        seenHere: seen?.id === id ? seen.incarnation : undefined,
      };
      const saved = await saveNode(sql, clock, { ...claim, works: this.#works });
      if (!saved) {
        this.#reached.delete(id);
        return await this.#clones.refuse(claim);
      }
      if (saved.wasClone) await this.#clones.accept(claim);
      this.#clones.replaced(claim);
      this.#incarnations.set(address, { id, incarnation });
      const { unseenSince, refusedFor } = saved;
      const node = { id: status.id, client, owner: this.#owner, status, refusedFor };
      this.#noteRefusal(node);
      await this.#take(node);
      this.#known.set(node.id, node);
      this.#reached.add(node.id);
      this.#lateness.forget(node.id);
      if (unseenSince !== undefined && !this.#unseen.has(node.id)) this.#unseen.set(node.id, unseenSince);
      return node;
    } catch (error) {
      if (known && !this.#lateness.covers(known.id, askedAt, error)) this.#known.delete(known.id);
      throw error;
    }
  }
}

/** Another platform with the same rows is ahead at a node. */
class OtherAhead extends NodeRefused {
  override name = 'OtherAhead';
}
