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

/** What counts in one bucket, in milliseconds; bytes of snapshots times milliseconds. */
export interface BucketUse {
  v1Ms: number;
  v2Ms: number;
  pausedByteMs: number;
}

/** The charge of a bucket in micro-euro, given what the month had before it. */
export function chargeOf(use: BucketUse, before: { v1Ms: number; v2Ms: number }): number {
  const hours = paidMs(use.v1Ms, before.v1Ms, freeV1Ms) + paidMs(use.v2Ms, before.v2Ms, freeV2Ms);
  return Math.round((hours / hourMs) * microEurPerHour + use.pausedByteMs * microEurPerByteMs);
}

/** What of `ms` lies past the free part of the month. */
function paidMs(ms: number, before: number, free: number): number {
  return Math.max(0, before + ms - free) - Math.max(0, before - free);
}
