import { ApiError } from '../../kernel/base/errors.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { Instant } from '../../kernel/db/instant.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { bySystem, writeAct } from '../../kernel/records/audit.ts';
import { moveDevice } from '../devices/index.ts';
import { issueKey, moveKey, revokeWithin } from '../keys/index.ts';
import type { EnvironmentRow } from './environments.rows.ts';
import {
  deleteMachineKey,
  findStrayKey,
  giveMachineKey,
  giveOwnToken,
  putMachineKey,
} from './environments.machines.sql.ts';
import { passOnRow } from './environments.sql.ts';
import { mintAs } from './secrets/tokens.ts';

/** Providers of machines, as far as environments ask for them. */
export interface MachineProviders {
  /** The region in which a machine is made. Throws 403 when the provider is not set up, 400 when it has no such region. */
  regionFor(provider: 'managed_a' | 'managed_b', wanted: string | undefined): string;
}

/** Micro-euro for an hour of a machine at a provider (document 3, Environment). */
const rates = { small: 30_000, medium: 60_000, large: 120_000 };

/** The columns that only a machine at a provider has. Throws 403 and 400 of `regionFor`. */
export function managedColumns(
  providers: MachineProviders,
  body: {
    provider: 'managed_a' | 'managed_b';
    region?: string | undefined;
    size?: keyof typeof rates | undefined;
    budget_micro_eur?: number | null | undefined;
  },
): Pick<EnvironmentRow, 'region' | 'size' | 'hourly_rate_micro_eur' | 'metadata'> {
  const { size = 'small', budget_micro_eur: budget = null } = body;
  const region = providers.regionFor(body.provider, body.region);
  return { region, size, hourly_rate_micro_eur: rates[size], metadata: { budget_micro_eur: budget } };
}

/**
 * A token with which the machine of an environment enrols by itself within 30 minutes. `generation` counts its machines: a repeat
 * for the same one has the same text, as a repeated request to its provider must.
 */
export async function mintForMachine(
  tx: Db,
  { keyring }: Pick<Kernel, 'keyring'>,
  now: Instant,
  row: Pick<EnvironmentRow, 'id' | 'account_id'>,
  generation: number,
): Promise<string> {
  const random = keyring.mac('environment-machine', `${row.id} ${generation}`);
  const { token } = await mintAs(tx, now, random, { environmentId: row.id, keyId: null, createdBy: row.account_id });
  return token;
}

/** What the key of a machine may do: be a host, take runs of schedules, and serve the environment. */
const machineScopes = ['hosts:serve', 'scheduler:serve', 'environments:serve'];

/** A key for the machine that enrols in an environment, in place of the key of the machine before it. */
export async function issueMachineKey(
  tx: Db,
  kernel: Pick<Kernel, 'keyring' | 'gateways'>,
  row: EnvironmentRow,
): Promise<string> {
  await endMachineKey(tx, kernel, row.id);
  const name = `machine of ${row.slug}`;
  const { account_id: accountId } = row;
  const { id, text } = await issueKey(kernel, tx, { accountId, name, scopes: machineScopes, toolLevel: 'l0' });
  await putMachineKey(tx, { environment_id: row.id, account_id: accountId, key_id: id });
  const details = { name, scopes: machineScopes, environment: row.id };
  await writeAct(tx, { accountId, by: bySystem, action: 'keys.create', subject: id, details });
  return text;
}

/** Revokes the key of an environment's machine, if it has one. */
export async function endMachineKey(tx: Db, kernel: Pick<Kernel, 'gateways'>, environmentId: string): Promise<void> {
  const key = await deleteMachineKey(tx, environmentId);
  if (key) await revokeWithin(tx, kernel, key.key_id, { accountId: key.account_id, by: bySystem });
}

/**
 * Gives a locked environment of an account that left it, or is lowered, to the owner who has agreed and been there
 * longest, and with it the key of its machine: a key stays that of who pays for the machine, and does not end with
 * another one's account. Answers whose it is now, where that changed: they are told (`passOnTold`).
 */
export async function passOn(
  tx: Db,
  kernel: Pick<Kernel, 'gateways'>,
  accountId: string,
  id: string,
): Promise<string | undefined> {
  const heir = await passOnRow(tx, accountId, id);
  await giveOwnToken(tx, id);
  const key = await findStrayKey(tx, id);
  if (!key) return heir;
  const { account_id: from, owner: to, key_id: keyId, device_id: deviceId } = key;
  await moveKey(tx, kernel, keyId, { from, to, by: bySystem });
  await giveMachineKey(tx, id, to);
  if (deviceId !== null) await moveDevice(tx, { from, to, id: deviceId, keyId });
  return heir;
}

/** An installation without a provider of machines. */
export const noProvider = (): ApiError =>
  new ApiError(
    'forbidden',
    'no such provider of machines is set up here: enrol a machine of your own with provider "byo"',
  );
