import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { earsOf, Recorder } from '../../apps/server/src/features/transcripts/transcripts.testing.ts';
import { openDatabase, type Sql } from '../../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../../apps/server/src/postgres/embedded.ts';
import { run } from '../../e2e/platform.ts';
import { type Platform, startPeer, startPlatform, temporaryDataDir } from '../lib/platform.ts';

/** A platform with a provider of speech and of vectors that answers at once, and its database. */
export interface Studio extends AsyncDisposable {
  readonly platform: Platform;
  readonly url: string;
  /** Of the owner. */
  readonly recorder: Recorder;
  readonly accountId: string;
  readonly sql: Sql;
  /** Makes an account; answers who records for it. */
  another(email: string): Promise<{ accountId: string; recorder: Recorder }>;
  /** The provider waits so long before each answer. */
  delay(ms: number): Promise<void>;
}

/** What bounds an account is not what is measured. */
const settings = {
  SVC_RATE_REQUESTS: '100000000',
  SVC_LOG_LEVEL: 'warn',
  SVC_QUOTA_RECORDING_MS: '1000000000',
  SVC_QUOTA_UPLOAD_BYTES: '100000000000',
};

/** Opens it; `more` are further settings. */
export async function openStudio(more: Readonly<Record<string, string>> = {}): Promise<Studio> {
  await using opening = new AsyncDisposableStack();
  const dataDir = opening.use(temporaryDataDir());
  const peer = opening.use(await startPeer('ears'));
  const provider = `http://127.0.0.1:${peer.port}`;
  const [key, providers] = ['key', 'providers.json'].map((name) => join(dataDir.path, name)) as [string, string];
  writeFileSync(key, 'sk-bench');
  const lane = { id: 'vectors', kind: 'openai', base_url: `${provider}/v1`, models: ['vectors-1'] };
  const file = { speech: [earsOf(provider, key)], lanes: [lane], aliases: { 'svc-embed': ['vectors'] } };
  writeFileSync(providers, JSON.stringify(file));
  const platform = opening.use(await startPlatform(dataDir.path, { ...settings, ...more, SVC_PROVIDERS: providers }));
  const url = `http://127.0.0.1:${platform.port}`;
  const embedded = findRunning(dataDir.path);
  if (!embedded) throw new Error('the database does not run');
  const sql = openDatabase({ embedded, database: 'svc' }, 4);
  opening.defer(() => sql.end({ timeout: 1 }));
  const svc = async (...args: string[]): Promise<{ key: string; account_id: string }> => {
    const { code, stdout, stderr } = await run([...args, '--data-dir', dataDir.path, '--json']);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as { key: string; account_id: string };
  };
  const [owner] = await sql<{ id: string }[]>`select id from accounts.accounts`;
  const stack = opening.move();
  return {
    platform,
    url,
    sql,
    accountId: owner?.id ?? '',
    recorder: new Recorder({ url }, platform),
    async another(email) {
      const { account_id: accountId } = await svc('accounts', 'create', '--email', email);
      const made = await svc('keys', 'create', '--email', email, '--name', 'bench');
      return { accountId, recorder: new Recorder({ url }, made) };
    },
    async delay(ms) {
      await (await fetch(`${provider}/delay/${ms}`, { method: 'PUT' })).arrayBuffer();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
