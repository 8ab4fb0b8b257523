/** Where an outbox keeps its writes: texts by id, in the order of their ids. */
export interface OutboxStorage {
  /** Every id, ascending. */
  ids(): Promise<string[]>;
  /** Undefined when it is not there. */
  read(id: string): Promise<string | undefined>;
  /** Writes a text, whole or not at all; resolves once it outlives a crash of the machine. */
  write(id: string, text: string): Promise<void>;
  /** Does nothing when it is not there. */
  remove(id: string): Promise<void>;
  /** Runs `work` while no other tab or process runs one on this storage; waits its turn, and rejects when `signal` aborts. */
  alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Gives back what it holds open. */
  close(): Promise<void>;
}
