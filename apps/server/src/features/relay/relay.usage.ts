import type { Context } from '../../kernel/http/context.ts';

const everyMs = 3_600_000;

/** Counts the bytes of one stream, both ways. */
interface ByteCount {
  add: (bytes: number) => void;
  /** Writes the last row. */
  end: () => void;
}

/** Makes the count of a request that stays open: a row of usage each hour and one at its end, in place of the one at its head. */
export function countBytes(context: Context): ByteCount {
  const { actor, deviceId, traceId, operationId: route } = context;
  const { clock, usage, metrics } = context.kernel;
  const { accountId, keyId } = actor;
  const carried = metrics.counter(
    'svc_relay_bytes_total',
    'Bytes that clients and machines of environments sent each other',
    [],
  );
  context.accountItself();
  let bytes = 0;
  let since = clock.monotonic();
  const write = (): void => {
    const now = clock.monotonic();
    const ms = Math.round(now - since);
    usage.record({
      at: clock.now(),
      accountId,
      keyId,
      deviceId,
      route,
      status: 101,
      bytes,
      ms,
      costMicroUsd: 0,
      traceId,
    });
    bytes = 0;
    since = now;
  };
  const stop = clock.every(everyMs, write);
  return {
    add(more) {
      bytes += more;
      carried({}, more);
    },
    end() {
      stop();
      write();
    },
  };
}
