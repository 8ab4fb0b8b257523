import type { Adapter, AdapterPayload } from 'oidc-provider';
import { keepClient } from './clients.sql.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import {
  consumeRecord,
  deleteGrant,
  deleteRecord,
  findRecord,
  findRecordByUid,
  findRecordByUserCode,
  type NewRecord,
  trimRecords,
  type RecordKey,
  type RecordRow,
  sealedRecords,
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
  { id, payload, expiresIn }: { id: string; payload: AdapterPayload; expiresIn: number | undefined },
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
    expiresIn: expiresIn ?? null,
  };
}

/** What the adapter needs to refuse: an error that the provider answers as `invalid_grant`. */
type Refuse = (message: string) => Error;

/**
 * Rows of an account that are kept: its sessions, its grants to one app, and the used refresh tokens of one grant, which show
 * that one is used twice. The oldest go.
 */
const mostKept: Readonly<Record<string, number>> = { Session: 100, Grant: 20, RefreshToken: 50 };

/** Records that show that their app is used. */
const kept = new Set(['Grant', 'RefreshToken']);

/**
 * Keeps the provider's records in Postgres. `consume` is one statement: with a plain store two exchanges of one code at once
 * both got tokens. The one that comes second revokes the grant.
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
    const { sql } = this.#kernel;
    const { accountId, clientId } = payload;
    const record = recordOf(this.#kernel, this.#model, { id, payload, expiresIn });
    const { grantId } = record;
    if (!(await writeRecord(sql, record))) throw this.#refuse('the grant was revoked');
    const most = mostKept[this.#model];
    if (most !== undefined && accountId !== undefined)
      await trimRecords(sql, { model: this.#model, accountId, clientId: clientId ?? null, grantId }, most);
    if (clientId !== undefined && kept.has(this.#model))
      await keepClient(sql, hashOfId(this.#kernel, 'Client', clientId));
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

  async consume(id: string): Promise<void> {
    const { sql } = this.#kernel;
    if (await consumeRecord(sql, this.#keyOf(id))) return;
    const { grantId } = (await this.find(id)) ?? {};
    if (grantId !== undefined) await deleteGrant(sql, grantId);
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
    const payload = JSON.parse(this.#kernel.keyring.open(sealedRecords, row.payload).toString()) as AdapterPayload;
    return row.consumed_at === null ? payload : { ...payload, consumed: Date.parse(row.consumed_at) / 1000 };
  }
}
