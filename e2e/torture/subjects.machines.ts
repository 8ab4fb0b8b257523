import { randomUUID } from 'node:crypto';
import {
  environmentMachine,
  type EnvironmentMove,
} from '../../apps/server/src/features/environments/environments.moves.ts';
import { lockEnvironment } from '../../apps/server/src/features/environments/environments.sql.ts';
import { Environments } from '../../apps/server/src/features/environments/environments.store.ts';
import { Execs } from '../../apps/server/src/features/hosts/execs/execs.ts';
import { type ExecMove, execs } from '../../apps/server/src/features/hosts/execs/execs.moves.ts';
import { lockExec } from '../../apps/server/src/features/hosts/execs/execs.sql.ts';
import {
  createRow,
  moveSandbox,
  type SandboxMove,
  sandboxes,
} from '../../apps/server/src/features/sandboxes/sandboxes.moves.ts';
import { inTransaction } from '../../apps/server/src/kernel/db/db.ts';
import { readNow } from '../../apps/server/src/kernel/db/instant.ts';
import { bySystem } from '../../apps/server/src/kernel/records/audit.ts';
import { createAccount, http, type TestAccount } from '../../apps/server/src/testing.ts';
import { edgesOf, kernelOn, type Subject, subjectOf } from './subject.ts';
import type { World } from './world.ts';

/** Environments, commands of hosts, sandboxes. */
export async function machineSubjects(world: World): Promise<Subject[]> {
  const account = await createAccount(world.helper);
  return [
    environmentSubject(world, account, 'byo'),
    environmentSubject(world, account, 'hetzner'),
    execSubject(world, account),
    sandboxSubject(world, account),
  ];
}

function environmentSubject(world: World, account: TestAccount, provider: string): Subject {
  const { sql, helper } = world;
  const isOwn = provider === 'byo';
  const doer = { accountId: account.id, kind: 'user' as const, by: bySystem };
  const given = { reason: 'because', deviceId: randomUUID() };
  const edges = edgesOf(environmentMachine).filter(({ move }) => !isOwn || !['stop', 'start'].includes(move));
  const call = async (path: string, body: object) => {
    const answer = await http(helper.url, path, { key: account.key, body });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  return subjectOf(sql, {
    table: 'environments.environments',
    kind: isOwn ? 'of one’s own' : 'at a provider',
    edges,
    first: isOwn ? 'pending' : 'creating',
    // What destroys an environment deletes what belongs to it, beside the move.
    beside: ['an environment that is gone has neither secrets', 'time of an environment is counted'],
    async create() {
      const { project } = await call('/v1/projects', { name: randomUUID() });
      const made = await call('/v1/environments', { project_id: project.id, name: randomUUID(), provider: 'byo' });
      const id = made.environment.id as string;
      if (!isOwn)
        await sql`update environments.environments set provider = ${provider}, state = 'creating' where id = ${id}`;
      return id;
    },
    perform: (by, id, move) =>
      inTransaction(by, async (tx) => {
        const row = await lockEnvironment(tx, id);
        const environments = new Environments(kernelOn(helper.kernel, by));
        return row && (await environments.move(tx, row, move as EnvironmentMove, given, doer)).to;
      }),
  });
}

function execSubject(world: World, account: TestAccount): Subject {
  const { sql, helper } = world;
  const lookup = { authenticateId: () => Promise.reject(new Error('asks for no key')) } as never;
  const given: Record<string, object> = {
    send: { epoch: 1 },
    start: { tokenHash: Buffer.alloc(32) },
    'report well': { ok: true, result: '1', error: undefined, exitCode: 0, truncated: false },
    'report cancelled': { ok: false, result: null, error: 'cancelled', exitCode: null, truncated: false },
    lose: { error: 'lost' },
    cancel: { error: 'cancelled' },
  };
  const edges = edgesOf(execs, { report: { well: 'done', cancelled: 'cancelled' } });
  return subjectOf(sql, {
    table: 'hosts.execs',
    edges: edges.map((edge) => (edge.move === 'cancel' ? { ...edge, to: 'cancelled' } : edge)),
    first: 'waiting',
    async create() {
      const store = new Execs(helper.kernel, lookup);
      const actor = { accountId: account.id, keyId: account.keyId, expiresAt: undefined };
      const command = {
        actor,
        deviceId: randomUUID(),
        fromDeviceId: undefined,
        op: 'shell',
        frame: {},
        expiresInS: 60,
      };
      const sealed = await store.seal(command);
      return (await inTransaction(sql, (tx) => store.give(tx, sealed))).id;
    },
    ready: async (id, moves) => {
      const isOver = moves.includes('expire');
      const now = helper.kernel.clock.instant();
      await sql`update hosts.execs set expires_at = ${now}::timestamptz + make_interval(secs => ${isOver ? 0 : 60})
        where id = ${id}`;
    },
    perform: (by, id, move) =>
      inTransaction(by, async (tx) => {
        const row = await lockExec(tx, { id, accountId: account.id });
        const now = await readNow(tx, helper.kernel.clock);
        const store = new Execs(kernelOn(helper.kernel, by), lookup);
        const name = move.split(' ')[0] as ExecMove;
        return row && (await store.move(tx, now, row, name, given[move] ?? {}))?.state;
      }),
  });
}

function sandboxSubject(world: World, account: TestAccount): Subject {
  const { sql, helper } = world;
  const { clock, feed } = helper.kernel;
  return subjectOf(sql, {
    table: 'sandboxes.sandboxes',
    isSingle: true,
    edges: edgesOf(sandboxes).filter(({ move }) => move !== 'forget'),
    first: 'creating',
    create: async () =>
      (
        await createRow(sql, clock, {
          id: randomUUID(),
          account_id: account.id,
          key_id: account.keyId,
          backend: 'v2',
          template: 'svc-base',
          egress: { mode: 'none' },
          metadata: {},
          ttlMs: 600_000,
          memory_mb: 1024,
        })
      ).id,
    ready: async (id, moves) => {
      if (!moves.includes('expire')) return;
      await sql`update sandboxes.sandboxes set expires_at = ${clock.instant()} where id = ${id}`;
    },
    perform: async (by, id, move) =>
      (await moveSandbox({ sql: by, clock, feed }, id, move as SandboxMove, { by: bySystem, snapshotBytes: 4_096 }))
        ?.state,
  });
}
