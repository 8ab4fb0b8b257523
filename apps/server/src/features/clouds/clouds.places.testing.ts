import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestClock, testClock } from '../../kernel/base/clock.ts';
import { type GatewayOptions, http, type OpenTest, openTest, type TestAccount, until } from '../../testing.ts';
import type { Sql } from '../../kernel/db/db.ts';
import { projectOf } from '../environments/environments.testing.ts';
import { FakeEc2, FakeHetzner } from './clouds.testing.ts';

/** A platform whose environments have machines at fake providers, and a clock that is turned. */
export interface CloudTest extends AsyncDisposable {
  t: OpenTest;
  clock: TestClock;
  fake: FakeHetzner;
  ec2: FakeEc2;
  /** A call of the account, or of another one; its answer. */
  ask(method: string, path: string, body?: object, by?: TestAccount): ReturnType<typeof http>;
  /** Makes an environment with a machine; answers its id. */
  make(fields?: object, by?: TestAccount): Promise<string>;
  /** The environment as the API shows it. */
  see(id: string): Promise<Record<string, unknown>>;
  /** Moves an environment, as a caller does. */
  act(id: string, action: string): Promise<Record<string, unknown>>;
  /** Turns the clock, and waits until every machine that is due was looked at. */
  turn(ms?: number): Promise<void>;
  /** Enrols the machine of an environment as its script does; answers what the script got. */
  enrol(id: string, device?: string): ReturnType<typeof http>;
  /** Enrols it, and lets its daemon report. */
  run(id: string): Promise<void>;
}

const patienceMs = 2_000;

/** Opens one. */
export async function openClouds({
  gateways = 1,
  settings = {},
}: { gateways?: 1 | 2 } & Pick<GatewayOptions, 'settings'> = {}): Promise<CloudTest> {
  await using opening = new AsyncDisposableStack();
  const clock = testClock(Date.parse('2026-11-02T09:00:00Z'));
  const fake = opening.use(await new FakeHetzner().listen());
  const ec2 = opening.use(await new FakeEc2().listen());
  const folder = mkdtempSync(join(tmpdir(), 'svc-clouds-'));
  opening.defer(() => rmSync(folder, { recursive: true }));
  const providers = writeProviders(folder, fake, ec2);
  const t = opening.use(await openTest({ gateways, clock, settings: { ...settings, SVC_PROVIDERS: providers } }));
  const { gateway, account } = t;
  const { sql } = gateway.kernel;
  const ask: CloudTest['ask'] = (method, path, body, by = account) =>
    http(gateway.url, path, { method, key: by.key, ...(body && { body }) });
  const see: CloudTest['see'] = async (id) => (await ask('GET', `/v1/environments/${id}`)).body.environment;
  const turn: CloudTest['turn'] = (ms = 2_000) => turnUntil(sql, clock, ms);
  const enrol: CloudTest['enrol'] = async (id, device = crypto.randomUUID()) => {
    const token = /token='(svc_env_[^']+)'/.exec(scriptOf([fake, ec2], id))?.[1];
    const body = { token, device_id: device, daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
    return http(gateway.url, '/v1/environments/enroll', { method: 'POST', body });
  };
  const stack = opening.move();
  return {
    t,
    clock,
    fake,
    ec2,
    ask,
    see,
    turn,
    enrol,
    async make({ project: given, ...fields }: Record<string, unknown> = {}, by = account) {
      const slug = `p-${crypto.randomUUID().slice(0, 8)}`;
      const project = given ?? (await projectOf(gateway, by, { slug }));
      const body = { project_id: project, provider: 'managed_b', name: 'Cloud', ...fields };
      const answer = await ask('POST', '/v1/environments', body, by);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body.environment.id;
    },
    async act(id, action) {
      const answer = await ask('POST', `/v1/environments/${id}/${action}`);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
    async run(id) {
      for (const one of [fake, ec2]) one.settle();
      await turn(10_000);
      assert.equal((await enrol(id)).status, 200);
      await report(t, id);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Turns the clock, and on until nothing is due: what moves meanwhile is seen at the next look. */
async function turnUntil(sql: Sql, clock: TestClock, ms: number): Promise<void> {
  clock.advance(ms);
  for (;;) {
    const isQuiet = await until(() => nothingDue(sql, clock), patienceMs).then(
      () => true,
      () => false,
    );
    if (isQuiet) return;
    clock.advance(2_000);
  }
}

/** Whether every machine that is due was looked at. */
async function nothingDue(sql: Sql, clock: TestClock): Promise<boolean> {
  const now = clock.instant();
  const [row] = await sql<{ busy: boolean }[]>`
      select exists (select from clouds.machines m left join environments.managed_view e on e.id = m.environment_id
          where m.leased_until > ${now} or m.due_at <= ${now} or m.seen_state is distinct from e.state)
        or exists (select from environments.managed_view e
          where not exists (select from clouds.machines m where m.environment_id = e.id)) as busy`;
  return row?.busy === false;
}

/** A providers file that lists the fakes; answers its path. */
export function writeProviders(folder: string, fake: FakeHetzner, ec2: FakeEc2): string {
  const keys = { hetzner: join(folder, 'hetzner'), ec2: join(folder, 'ec2') };
  writeFileSync(keys.hetzner, fake.token);
  writeFileSync(keys.ec2, 'AKID:ec2-secret');
  const environments = [
    { id: 'b', kind: 'hetzner', token_file: keys.hetzner, base_url: `${fake.url}/v1` },
    { id: 'a', kind: 'ec2', token_file: keys.ec2, base_url: ec2.url, image: 'ami-1' },
  ];
  const path = join(folder, 'providers.json');
  writeFileSync(path, JSON.stringify({ environments }));
  return path;
}

/** The script that a fake provider was given for an environment's machine. */
export function scriptOf(fakes: readonly (FakeHetzner | FakeEc2)[], id: string): string {
  const machines = fakes.flatMap((fake) => [...fake.machines.values()]);
  return machines.find(({ labels }) => labels['svc-environment'] === id)?.userData ?? '';
}

/** As if the daemon of an environment had reported. */
export async function report({ gateway }: Pick<OpenTest, 'gateway'>, id: string): Promise<void> {
  const { daemonReported, Environments } = await import('../environments/index.ts');
  const { sql } = gateway.kernel;
  const [row] = await sql<{ device_id: string }[]>`select device_id from environments.environments where id = ${id}`;
  const deviceId = row?.device_id ?? '';
  await daemonReported(gateway.kernel, new Environments(gateway.kernel), {
    environmentId: id,
    deviceId,
    activity: null,
  });
}
