import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { testSandboxes } from '../apps/server/src/config.ts';
import { type HttpAnswer, http, until } from '../apps/server/src/testing.ts';
import { suiteSeed } from '../apps/server/src/testing.random.ts';
import { asked } from './looking.ts';
import { withoutSandboxes } from './sandboxes.ts';
import { freePort, killAll, noSandboxes, type Platform, runHere, startPlatform, temporaryFolder } from './platform.ts';

/** Each takes some seconds; `SVC_TEST_STEPS=60` for more. */
const steps = Number(process.env['SVC_TEST_STEPS'] ?? 4);
const seed = suiteSeed;
const sandboxd = withoutSandboxes ? undefined : testSandboxes();

/** The model's state of an account; the platform has to agree, on both gateways. */
interface Person {
  id: string;
  email: string;
  key: string;
  suspended: boolean;
  /** Keys beside its own: what is revoked stays so. */
  keys: { id: string; text: string; revoked: boolean }[];
  /** Null: the installation's. */
  keyQuota: number | null;
  box: string | undefined;
  /** Of a stream that was opened while it might be. */
  ended: Promise<void> | undefined;
}

describe(`standing of accounts over two gateways that are killed, seed ${seed}`, () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const environment = sandboxd === undefined ? noSandboxes : { SVC_SANDBOXD_SOCKET: sandboxd };
  const gateways: Platform[] = [];
  const people: Person[] = [];
  const random = mulberry(seed);
  const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const svc = (...line: string[]) => runHere(dataDir, ...line);
  const ask = (path: string, key: string, body?: object, gateway = oneOf(gateways)): Promise<HttpAnswer> =>
    http(gateway.url, path, { key, ...(body && { body }) });

  before(async () => {
    for (let n = 0; n < 2; n++) gateways.push(await startPlatform(dataDir, await freePort(), environment));
    for (const name of ['one', 'two', 'three']) people.push(await openAccount(name));
  });
  after(async () => {
    // A sandbox would stay on the node.
    for (const person of people.filter(({ box }) => box !== undefined)) {
      await svc('accounts', 'resume', '--email', person.email).catch(() => {});
      await svc('accounts', 'delete', '--email', person.email, '--yes').catch(() => {});
    }
    for (const gateway of gateways) await gateway.end();
    killAll();
    await folder.remove();
  });

  /** An account that does something each second, holds a stream and, where there is a node, a sandbox. */
  async function openAccount(name: string): Promise<Person> {
    const email = `${name}@example.test`;
    const { account_id: id } = await svc('accounts', 'create', '--email', email);
    await svc('accounts', 'set', '--email', email, '--subscription', 'active', '--tool-level', 'l3_sandbox');
    const { key } = await svc('keys', 'create', '--email', email, '--name', 'own');
    const person: Person = {
      id,
      email,
      key,
      suspended: false,
      keys: [],
      keyQuota: null,
      box: undefined,
      ended: undefined,
    };
    const trigger = { type: 'cron', expr: '* * * * * *' };
    const schedule = { name: 'each second', kind: 'agent', spec: { prompt: 'x' }, trigger, overlap: 'kill' };
    assert.equal((await ask('/v1/schedules', key, schedule)).status, 201);
    return person;
  }

  const runsOf = async ({ id }: Person): Promise<number> =>
    (await asked(dataDir, `select 1 from scheduler.runs where account_id = '${id}' and state <> 'skipped'`)).length;
  /** Active or billed resources of an account now. */
  const lively = async ({ id }: Person): Promise<string[]> => {
    const found = await asked(
      dataDir,
      `select 'sandbox ' || state as what from sandboxes.sandboxes
         where account_id = '${id}' and state in ('creating', 'running', 'resuming')
       union all select 'span ' || kind from metering.spans where account_id = '${id}' and ended_at is null
       union all select 'presence' from hosts.presence where account_id = '${id}' and expires_at > now()`,
    );
    return found.map((row) => (row as { what: string }).what);
  };

  const acts: Record<string, (person: Person) => Promise<void>> = {
    async suspend(person) {
      await svc('accounts', 'suspend', '--email', person.email);
      person.suspended = true;
    },
    async resume(person) {
      await svc('accounts', 'resume', '--email', person.email);
      person.suspended = false;
    },
    async kill() {
      const n = Math.floor(random() * 2);
      const gateway = gateways[n] as Platform;
      await gateway.end('SIGKILL');
      gateways[n] = await startPlatform(dataDir, gateway.port, environment);
    },
    /** One of the two, in the middle of a change of standing. */
    async killWhileSuspending(person) {
      const n = Math.floor(random() * 2);
      const gateway = gateways[n] as Platform;
      const suspending = acts['suspend']?.(person);
      await gateway.end('SIGKILL');
      await suspending;
      gateways[n] = await startPlatform(dataDir, gateway.port, environment);
    },
    async makeKey(person) {
      const answer = await ask('/v1/keys', person.key, { name: 'x' });
      const used = 1 + person.keys.filter(({ revoked }) => !revoked).length;
      const expected = person.suspended ? 403 : used >= (person.keyQuota ?? 1_000) ? 429 : 201;
      assert.equal(answer.status, expected, JSON.stringify(answer.body));
      if (expected === 201) person.keys.push({ id: answer.body.id, text: answer.body.key, revoked: false });
    },
    async revokeKey(person) {
      const key = person.keys.find(({ revoked }) => !revoked);
      if (!key) return;
      await svc('keys', 'revoke', '--id', key.id);
      key.revoked = true;
    },
    async limitKeys(person) {
      person.keyQuota = oneOf([null, 1, 3]);
      const limit = person.keyQuota === null ? 'default' : String(person.keyQuota);
      await svc('accounts', 'quota', '--email', person.email, '--name', 'keys', '--limit', limit);
    },
    async listen(person) {
      const { url } = oneOf(gateways);
      const answer = await fetch(`${url}/v1/schedules/stream`, { headers: { authorization: `Bearer ${person.key}` } });
      assert.equal(answer.status, person.suspended ? 403 : 200);
      person.ended = readToEnd(answer);
    },
    async startSandbox(person) {
      if (sandboxd === undefined) return;
      const answer = await ask('/v1/sandboxes', person.key, { backend: 'v1' });
      assert.ok(person.suspended ? answer.status === 403 : [200, 429, 503].includes(answer.status), `${answer.status}`);
      if (answer.status === 200) person.box = answer.body.id;
    },
  };

  /** The platform agrees with the model. */
  async function check(person: Person): Promise<void> {
    for (const gateway of gateways) {
      const expected = person.suspended ? 403 : 200;
      assert.equal((await ask('/v1/usage', person.key, undefined, gateway)).status, expected);
      for (const { text, revoked } of person.keys) {
        assert.equal((await ask('/v1/usage', text, undefined, gateway)).status, revoked ? 401 : expected);
      }
    }
    if (!person.suspended) {
      const before = await runsOf(person);
      await until(async () => (await runsOf(person)) > before);
      return;
    }
    await person.ended;
    await until(async () => (await lively(person)).length === 0);
    const runs = await runsOf(person);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    assert.equal(await runsOf(person), runs, 'runs of a suspended account');
    assert.deepEqual(await lively(person), []);
  }

  for (let step = 1; step <= steps; step++) {
    test(`step ${step}: whatever happens, suspended accounts start, wake and cost nothing, and the others go on`, async () => {
      const [act, person] = [oneOf(Object.keys(acts)), oneOf(people)];
      await acts[act]?.(person);
      try {
        await Promise.all(people.map(check));
      } catch (error) {
        throw new Error(`after ${act} of ${person.email}: ${(error as Error).message}`, { cause: error });
      }
    });
  }
});

async function readToEnd(answer: Response): Promise<void> {
  try {
    for await (const _ of answer.body ?? []);
  } catch {
    // Its gateway was killed: it ended too.
  }
}

/** Numbers from 0 to 1 that follow from the seed. */
function mulberry(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
