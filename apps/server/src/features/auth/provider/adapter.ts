import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Db } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { keepClient } from './clients.sql.ts';
import { currentExchange, Exchange } from './exchange.ts';
import { currentNetwork } from './network.ts';
import {
  deleteGrant,
  deleteRecord,
  findRecord,
  findRecordByUid,
  findRecordByUserCode,
  makeRoomForBegun,
  mostBegun,
  type NewRecord,
  type RecordKey,
  type RecordRow,
  sealedRecords,
  trimRecords,
  writeRecord,
} from './records.sql.ts';

/** HMAC of an id of the provider, as it is stored. */
export const hashOfId = ({ keyring }: Pick<Kernel, 'keyring'>, model: string, id: string): Buffer =>
  keyring.mac('auth-record', `${model} ${id}`);

const hashOfUserCode = ({ keyring }: Pick<Kernel, 'keyring'>, code: string): Buffer =>
  keyring.mac('auth-record', `user code ${code}`);

/** The row of a payload of the provider; `expiresIn`: seconds from now. */
export function recordOf(
  kernel: Pick<Kernel, 'keyring'>,
  model: string,
  {
    id,
    payload,
    expiresIn,
    network = null,
  }: { id: string; payload: AdapterPayload; expiresIn: number | undefined; network?: string | null },
): NewRecord {
  const { accountId, clientId, uid, userCode } = payload;
  return {
    model,
    idHash: hashOfId(kernel, model, id),
    accountId: accountId ?? null,
    clientId: clientId ?? null,
    // A grant is found by its id, which is no secret: every token of it names it.
    grantId: model === 'Grant' ? id : (payload.grantId ?? null),
    uid: uid ?? null,
    userCodeHash: userCode === undefined ? null : hashOfUserCode(kernel, userCode),
    payload: kernel.keyring.seal(sealedRecords, Buffer.from(JSON.stringify(payload))),
    network,
    expiresIn: expiresIn ?? null,
  };
}

/** What the adapter needs to refuse: an error that the provider answers as `invalid_grant`. */
type Refuse = (message: string) => Error;

/**
 * Rows of an account that are kept: its sessions, its grants to one app, and the used refresh tokens of one grant, which show
 * that one is used twice. The oldest go, and of grants those that were not used for longest.
 */
const mostKept: Readonly<Record<string, number>> = { Session: 100, Grant: 20, RefreshToken: 50 };

/** Records that anybody makes by asking: the network that holds most of them makes room where there are too many. */
const begun = new Set(['Interaction', 'DeviceCode', 'ReplayDetection']);

/** Records that show that their app is used. */
const kept = new Set(['Grant', 'RefreshToken']);

/**
 * Keeps the provider's records in Postgres. Codes and tokens are used up with the answer (`exchange.ts`): with a plain store
 * two exchanges of one code at once both got tokens.
 */
export class Records implements Adapter {
  readonly #kernel: Kernel;
  readonly #model: string;
  readonly #refuse: Refuse;

  constructor(kernel: Kernel, model: string, refuse: Refuse) {
    this.#kernel = kernel;
    this.#model = model;
    this.#refuse = refuse;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { sql, config } = this.#kernel;
    const network = begun.has(this.#model) ? currentNetwork() : null;
    const record = recordOf(this.#kernel, this.#model, { id, payload, expiresIn, network });
    // The token endpoint makes these, where nobody has looked for room yet.
    if (this.#model === 'ReplayDetection') await makeRoomForBegun(sql, mostBegun);
    const write = async (db: Db): Promise<void> => {
      if (!(await writeRecord(db, record))) throw this.#refuse('the grant was revoked, or the proof was used before');
      const { clientId } = record;
      if (clientId !== null && kept.has(this.#model))
        await keepClient(db, hashOfId(this.#kernel, 'Client', clientId), config.grants.idleSeconds);
    };
    await (currentExchange() ?? new Exchange()).write(sql, {
      model: this.#model,
      write,
      later: () => this.#trim(record),
    });
  }

  /** Not in the transaction of an exchange: it waits for rows that who ends the grant may hold. */
  async #trim({ accountId, clientId, grantId }: NewRecord): Promise<void> {
    const most = mostKept[this.#model];
    if (most !== undefined && accountId !== null)
      await trimRecords(this.#kernel.sql, { model: this.#model, accountId, clientId, grantId }, most);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#open(await findRecord(this.#kernel.sql, this.#keyOf(id)));
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#open(await findRecordByUid(this.#kernel.sql, this.#model, uid));
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#open(await findRecordByUserCode(this.#kernel.sql, hashOfUserCode(this.#kernel, userCode)));
  }

  /**
   * The library calls it after its checks. What was used before is refused here, and the exchange gives the answer of
   * then;
   * where another thing is asked for than then, the library goes on.
   */
  async consume(id: string): Promise<void> {
    const exchange = currentExchange();
    if (!exchange) throw new Error('codes and tokens are used at the token endpoint alone');
    const key = this.#keyOf(id);
    const isUsed = (await findRecord(this.#kernel.sql, key))?.consumed_at;
    if (isUsed === null || (await exchange.asksOther(this.#kernel, key))) {
      exchange.used = key;
      return;
    }
    exchange.before = key;
    throw this.#refuse('it was used before');
  }

  async destroy(id: string): Promise<void> {
    const { sql } = this.#kernel;
    if (this.#model === 'Grant') await deleteGrant(sql, id);
    else await deleteRecord(sql, this.#keyOf(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await deleteGrant(this.#kernel.sql, grantId);
  }

  #keyOf(id: string): RecordKey {
    return { model: this.#model, idHash: hashOfId(this.#kernel, this.#model, id) };
  }

  #open(row: RecordRow | undefined): AdapterPayload | undefined {
    if (!row) return undefined;
    // Not whether it was used: the library would end the grant without asking for how long.
    return JSON.parse(this.#kernel.keyring.open(sealedRecords, row.payload).toString()) as AdapterPayload;
  }
}
