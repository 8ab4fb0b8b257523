import { randomUUID } from 'node:crypto';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { bySystem, type Who, writeAct } from '../../kernel/records/audit.ts';
import { type ChangesLeft, forgetChanges, type Undoes, undoChanges } from '../../kernel/records/app-changes.ts';
import { shutOut, takeBack, type TakesBack, whichLetIn } from '../../kernel/records/let-in.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { changeConnection, closeConnection, type ConnectionOfKey, openConnection, reached } from '../keys/index.ts';
import {
  type ConnectionRow,
  connectionsOf,
  connectionsQuota,
  endConnection,
  endedConnections,
  findConnection,
  findConnectionByKey,
  findConnectionOf,
  insertConnection,
  lockApp,
  updateConnection,
} from './connections.sql.ts';
import { tellChanges } from './connections.notify.ts';

/** An app as the person saw it when they let it in, what it asked for, and what of it they gave. */
interface Consent
  extends Pick<ConnectionRow, 'account_id' | 'client_id' | 'name' | 'trust' | 'host' | 'scopes' | 'resources'> {
  asked: readonly string[];
  by: Who;
}

/** Days that a key of an app lives whose name nobody vouches for. */
const daysOfStrangers = 90;

/** Days that the keys of an app live; undefined: until they are revoked. */
export const keyDaysOf = (trust: ConnectionRow['trust']): number | undefined =>
  trust === 'document' || trust === 'unknown' ? daysOfStrangers : undefined;

/** Apps that people let in. */
export class Connections {
  readonly #kernel: Kernel;
  #onAdded: (tx: Db, app: { accountId: string; name: string; host: string | null }) => Promise<void> = async () => {};
  #onEnd: (tx: Db, connection: ConnectionRow) => Promise<void> = async () => {};
  #takes: () => readonly TakesBack[] = () => [];
  #undoes: () => readonly Undoes[] = () => [];
  #left: () => readonly ChangesLeft[] = () => [];

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** `added` is called in the transaction in which an app is let in that was not before. */
  onAdded(added: (tx: Db, app: { accountId: string; name: string; host: string | null }) => Promise<void>): void {
    this.#onAdded = added;
  }

  /** `end` is called in the transaction that ends a connection. */
  onEnd(end: (tx: Db, connection: ConnectionRow) => Promise<void>): void {
    this.#onEnd = end;
  }

  /** The features that take back what an app let in, and undo what it changed; asked when a connection ends. */
  takesBack(features: () => readonly Pick<Feature, 'takesBack' | 'undoes' | 'changesLeft'>[]): void {
    this.#takes = () => features().flatMap(({ takesBack }) => takesBack ?? []);
    this.#undoes = () => features().flatMap(({ undoes }) => undoes ?? []);
    this.#left = () => features().flatMap(({ changesLeft }) => changesLeft ?? []);
  }

  /** Forgets changes of apps whose subject is gone. */
  forgetChanges(): Promise<void> {
    return forgetChanges(this.#kernel.background, this.#left());
  }

  /** The connection of an account with an app. */
  of(accountId: string, clientId: string): Promise<ConnectionRow | undefined> {
    return findConnectionOf(this.#kernel.sql, accountId, clientId);
  }

  /** The connection that a key stands for. */
  async ofKey(keyId: string): Promise<ConnectionOfKey | undefined> {
    const row = await findConnectionByKey(this.#kernel.sql, keyId);
    return row && { id: row.id, name: row.name, keyDays: keyDaysOf(row.trust) };
  }

  /**
   * Lets an app in, or changes what it may do: what it asked for and was not given is taken from its tokens too. Keys that it has
   * stay as they were given. Throws 429 past the account's limit.
   */
  async allow(consent: Consent): Promise<void> {
    const { account_id: accountId, client_id: clientId, asked, by, ...seen } = consent;
    await inTransaction(this.#kernel.sql, async (tx) => {
      await lockApp(tx, accountId, clientId);
      const known = await findConnectionOf(tx, accountId, clientId);
      const before = known?.scopes.filter((scope) => !asked.includes(scope));
      const scopes = union(before, seen.scopes);
      const resources = union(known?.resources, seen.resources);
      const id = known?.id ?? randomUUID();
      if (known) {
        await updateConnection(tx, id, { ...seen, scopes, resources });
        await changeConnection(tx, this.#kernel, { accountId, keyId: known.key_id, scopes });
      } else {
        await checkQuota(this.#kernel.config, tx, connectionsQuota, accountId);
        const keyId = await openConnection(tx, { accountId, connectionId: id, name: seen.name, scopes });
        await insertConnection(tx, {
          ...seen,
          id,
          account_id: accountId,
          client_id: clientId,
          scopes,
          resources,
          key_id: keyId,
        });
        await this.#onAdded(tx, { accountId, name: seen.name, host: seen.host });
      }
      const details = { client_id: clientId, name: seen.name, scopes: seen.scopes, ...reached(seen.scopes) };
      await writeAct(tx, { accountId, by, action: 'connections.allow', subject: id, details });
    });
  }

  /**
   * Ends a connection, its tokens and its keys, and takes back what it let in; answers how many of each. 404 for one that is not
   * the account's. `check` throws for who may not, once nothing can be given to the app any more.
   */
  async end(
    accountId: string,
    id: string,
    { by, check }: { by: Who; check: (tx: Db) => Promise<void> },
  ): Promise<{ keys: number; takenBack: number }> {
    return inTransaction(this.#kernel.sql, async (tx) => {
      const row = await findConnection(tx, accountId, id);
      if (!row) throw notFound('connection');
      await shutOut(tx, { accountId, connectionId: id });
      await check(tx);
      if (!(await endConnection(tx, id))) throw notFound('connection');
      await this.#onEnd(tx, row);
      const takenBack = await this.#takeBack(tx, row, by);
      const ended = { accountId, connectionId: id, keyId: row.key_id, by, takenBack };
      return { keys: await closeConnection(tx, this.#kernel, ended), takenBack };
    });
  }

  /** Takes back what apps let in that a gateway of an earlier release disconnected: it knew nothing of that. */
  async takeBackOfEnded(): Promise<void> {
    const { background } = this.#kernel;
    const ended = await endedConnections(background);
    const left = await whichLetIn(
      background,
      ended.map(({ id }) => id),
    );
    for (const row of ended.filter(({ id }) => left.has(id)))
      await inTransaction(background, async (tx) => {
        await shutOut(tx, { accountId: row.account_id, connectionId: row.id });
        await this.#takeBack(tx, row, bySystem);
      });
  }

  async #takeBack(tx: Db, row: Pick<ConnectionRow, 'id' | 'account_id' | 'trust'>, by: Who): Promise<number> {
    // By the product's own command line people let in themselves, though an earlier release noted it.
    const { id } = row;
    const isOwn = row.trust === 'first-party';
    const count = await takeBack(tx, id, { by, takes: isOwn ? [] : this.#takes() });
    const changes = await undoChanges(tx, id, { by, undoes: isOwn ? [] : this.#undoes(), left: this.#left() });
    if (!isOwn) await tellChanges(this.#kernel, tx, row.account_id, changes);
    return isOwn ? 0 : count;
  }
}

/**
 * Ends every connection with an app that is no longer there, its tokens and its keys; answers how many. What it let in is taken
 * back by a gateway, within a day: this runs beside the platform.
 */
export async function endConnectionsOf(
  parts: Pick<Kernel, 'sql' | 'gateways'>,
  clientId: string,
  { by, end }: { by: Who; end: (tx: Db, connection: ConnectionRow) => Promise<void> },
): Promise<number> {
  const rows = await connectionsOf(parts.sql, clientId);
  let count = 0;
  for (const row of rows) {
    const { id, account_id: accountId, key_id: keyId } = row;
    await inTransaction(parts.sql, async (tx) => {
      await shutOut(tx, { accountId, connectionId: id });
      if (!(await endConnection(tx, id))) return;
      await end(tx, row);
      await closeConnection(tx, parts, { accountId, connectionId: id, keyId, by, takenBack: 0 });
      count += 1;
    });
  }
  return count;
}

const union = (before: readonly string[] = [], more: readonly string[]): string[] => [...new Set([...before, ...more])];
