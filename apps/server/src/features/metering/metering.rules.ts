/** Length of a bucket (document 3, Billing). */
export const bucketMs = 10 * 60_000;
const hourMs = 3_600_000;
/** 0.10 EUR per hour. */
const microEurPerHour = 100_000;
/** Of v1 per user and UTC month. */
export const freeV1Ms = 10 * hourMs;
/** Of v2 per user and UTC month, apart from those of v1. */
export const freeV2Ms = 5 * hourMs;
/** 0.05 EUR per GB (10^9 bytes) and month of 730 hours. */
const microEurPerByteMs = 50_000 / (1e9 * 730 * hourMs);

/** The counted use of a bucket or a month, in milliseconds; bytes of snapshots times milliseconds. */
interface BucketUse {
  v1Ms: number;
  v2Ms: number;
  pausedByteMs: number;
}

/**
 * The charge of a bucket in micro-euro, given what the month had before it: what the month comes to grows by it, so that
 * nothing is lost or won by rounding six times an hour.
 */
export function chargeOf(use: BucketUse, before: BucketUse): number {
  const after = {
    v1Ms: before.v1Ms + use.v1Ms,
    v2Ms: before.v2Ms + use.v2Ms,
    pausedByteMs: before.pausedByteMs + use.pausedByteMs,
  };
  return monthOf(after) - monthOf(before);
}

/** What use costs at the full price, in micro-euro: as if nothing of it were free. */
export const fullPriceOf = ({ v1Ms, v2Ms, pausedByteMs }: BucketUse): number =>
  Math.round(((v1Ms + v2Ms) / hourMs) * microEurPerHour + pausedByteMs * microEurPerByteMs);

/** The price of a month's use, past its free parts. */
function monthOf({ v1Ms, v2Ms, pausedByteMs }: BucketUse): number {
  const hours = (Math.max(0, v1Ms - freeV1Ms) + Math.max(0, v2Ms - freeV2Ms)) / hourMs;
  return Math.round(hours * microEurPerHour + pausedByteMs * microEurPerByteMs);
}
