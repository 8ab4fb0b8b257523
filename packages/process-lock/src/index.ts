export { type Flock, tryFlock, waitForFlock } from './flock.ts';
export { type Lock, lockHolder, type Taken, takeLock } from './lock.ts';
export { isAlive, isRunning, type ProcessId, processStart, statFields } from './processes.ts';
