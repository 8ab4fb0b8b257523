import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Db, Sql } from '../db/db.ts';
import { type Loop, startLoop } from '../work/loop.ts';
import type { EventStream } from './sse.ts';

/** All rows are written again this often: the table is unlogged, so a crash of the database empties it. */
const allEveryMs = 60_000;
const atOnce = 1_000;

/** A device of an account. */
interface DeviceOf {
  accountId: string;
  deviceId: string;
}

/** Which devices have a stream open, on any gateway. */
export class DeviceStreams {
  readonly #parts: { sql: Sql; gatewayId: string };
  readonly #open = new Map<string, DeviceOf & { streams: number }>();
  /** Devices whose row is to be written or deleted: their first stream opened, or their last one ended. */
  readonly #changed = new Map<string, DeviceOf>();
  readonly #loop: Loop;
  #allAt = systemClock.monotonic() + allEveryMs;

  constructor({ log, ...parts }: { sql: Sql; gatewayId: string; log: Log }) {
    this.#parts = parts;
    const work = () => this.#write();
    this.#loop = startLoop({ clock: systemClock, log }, { name: 'kernel.device_streams', everyMs: 1_000, work });
  }

  /** Counts a stream of a device until it ends. */
  add({ accountId, deviceId }: DeviceOf, stream: EventStream): void {
    const id = `${accountId}:${deviceId}`;
    const device = this.#open.get(id) ?? { accountId, deviceId, streams: 0 };
    const count = (by: number): void => {
      device.streams += by;
      if (device.streams > 0) this.#open.set(id, device);
      else this.#open.delete(id);
      if (device.streams === 0 || (device.streams === 1 && by === 1)) {
        this.#changed.set(id, device);
        this.#loop.wake();
      }
    };
    count(1);
    stream.onClose(() => count(-1));
  }

  /** Whether a device has a stream open on a gateway that lives. */
  async hasOne(db: Db, { accountId, deviceId }: DeviceOf): Promise<boolean> {
    const rows = await db`
      select 1 from kernel.device_streams s join kernel.gateways g on g.id = s.gateway_id
      where s.account_id = ${accountId} and s.device_id = ${deviceId} and g.lease_until > now()`;
    return rows.length > 0;
  }

  /** Stops writing. The rows are deleted with the lease of this gateway. */
  close(): Promise<void> {
    return this.#loop.stop();
  }

  async #write(): Promise<void> {
    if (systemClock.monotonic() >= this.#allAt) {
      this.#allAt += allEveryMs;
      for (const [id, device] of this.#open) this.#changed.set(id, device);
    }
    while (this.#changed.size > 0) {
      const some = [...this.#changed].slice(0, atOnce);
      for (const [id] of some) this.#changed.delete(id);
      try {
        await writeRows(
          this.#parts.sql,
          this.#parts.gatewayId,
          some.map(([id, device]) => ({ ...device, here: this.#open.has(id) })),
        );
      } catch (error) {
        for (const [id, device] of some) this.#changed.set(id, device);
        throw error;
      }
    }
  }
}

async function writeRows(
  sql: Sql,
  gatewayId: string,
  devices: readonly (DeviceOf & { here: boolean })[],
): Promise<void> {
  await sql`
    with given as (
      select * from json_to_recordset(${JSON.stringify(devices)}::text::json)
        as g ("accountId" uuid, "deviceId" uuid, here boolean)
    ), gone as (
      delete from kernel.device_streams s using given g
      where s.account_id = g."accountId" and s.device_id = g."deviceId" and s.gateway_id = ${gatewayId} and not g.here
    )
    insert into kernel.device_streams (account_id, device_id, gateway_id)
    select "accountId", "deviceId", ${gatewayId}::uuid from given where here on conflict do nothing`;
}
