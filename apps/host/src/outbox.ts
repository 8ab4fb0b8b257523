import { createHash } from 'node:crypto';
import { join } from 'node:path';
import {
  type Client,
  openOutbox,
  type OutboxChange,
  type OutboxEntry,
  type OutboxInput,
  type OutboxOperation,
} from '@svc/sdk';
import { fileStorage } from '@svc/sdk/file';
import type { Config } from './config.ts';
import { CommandError } from './failure.ts';
import type { Output } from './output.ts';
import { describeWithTrace } from './report.ts';

/** A write of a command, and what its person is told. */
interface Sending<O extends OutboxOperation> {
  operation: O;
  input: OutboxInput<O>;
  /** Waits until it is sent. */
  wait: boolean;
}

/** Refused for who asks: the person at the terminal can give another key, and repeat the command. */
const forItsKey = [401, 402, 403];

/**
 * Sends a write by way of the outbox of this machine, after those that wait there: answers the gateway's answer, or undefined
 * when it is stored and waits for the next such command. Throws `CommandError` when it is refused; it is then not stored.
 */
export async function sendOrStore<O extends OutboxOperation>(
  { client, config, output }: { client: Client; config: Config; output: Output },
  { operation, input, wait }: Sending<O>,
): Promise<{ answer: unknown } | undefined> {
  const { promise: outcome, resolve, reject } = Promise.withResolvers<{ answer: unknown } | undefined>();
  let own: OutboxEntry | undefined;
  const changes: OutboxChange[] = [];
  const hear = async (change: OutboxChange): Promise<void> => {
    const isOwn = change.entry.id === own?.id;
    if (change.state === 'sent') {
      if (isOwn) resolve({ answer: change.answer });
      else output.log(`sent what was stored at ${change.entry.storedAt}`);
    } else if (change.state === 'refused' || (change.state === 'waiting' && isOwn && isForKey(change))) {
      await box.dismiss(change.entry.id);
      if (isOwn) reject(new CommandError(describeWithTrace(change.error)));
      else output.log(`${wordsOf(change.entry)} was refused: ${describeWithTrace(change.error)}`);
    } else if (change.state === 'waiting') {
      if (!wait) resolve(undefined);
      output.log(`stored, not sent: ${describeWithTrace(change.error)}`);
    }
  };
  // What it says before `put` has answered is heard then.
  const onChange = (change: OutboxChange): void => {
    if (own) void hear(change).catch(reject);
    else changes.push(change);
  };
  const box = openOutbox(client, fileStorage(folderOf(config)), { onChange });
  try {
    own = await box.put(operation, input).catch((error: unknown) => {
      throw new CommandError(`cannot store it: ${describeWithTrace(error)}`);
    });
    for (const change of changes) await hear(change);
    return await outcome;
  } finally {
    await box.close();
  }
}

const isForKey = ({ error }: { error: { status: number } }): boolean => forItsKey.includes(error.status);

/** Of each gateway: what was meant for one is not sent to another. */
const folderOf = ({ stateDir, url }: Config): string =>
  join(stateDir, 'outbox', createHash('sha256').update(url).digest('hex').slice(0, 16));

/** A write in the words of who made it. */
function wordsOf({ operation, input, storedAt }: OutboxEntry): string {
  const { text, prompt } = (input.body ?? {}) as { text?: string; prompt?: string };
  return `what was stored at ${storedAt} (${operation}: ${JSON.stringify(text ?? prompt ?? input)})`;
}
