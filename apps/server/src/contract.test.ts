import { clients } from './clients/index.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { contract, errorEnvelope, methodsOf, type Route } from '@svc/contract';
import fc from 'fast-check';
import { Authenticator } from './features/auth/people/authenticator.testing.ts';
import { connectionOf } from './features/connections/connections.testing.ts';
import { headersOf, signIn, type TestLogin } from './features/me/me.testing.ts';
import { withoutStreams } from './features/mcp/index.ts';
import { newBrowser } from './features/notifications/notifications.testing.ts';
import { notify } from './features/notifications/index.ts';
import { isTested, testedFeature } from './testing.examples.ts';
import { shared } from './testing.shared.ts';
import { environmentOf, projectOf } from './features/environments/environments.testing.ts';
import { beginUpload } from './features/uploads/uploads.testing.ts';
import { clientOf, createAccount, http, openHost, openTest, type TestAccount, type TestGateway } from './testing.ts';

/** Every route of the contract with its operationId; streams answer without end and are read elsewhere. */
const routes = Object.entries(contract).flatMap(([feature, operations]) =>
  Object.entries(operations as Record<string, Route>).map(([verb, route]) => ({ id: `${feature}.${verb}`, route })),
);
/** Those that this run looks at. */
const tested = routes.filter(({ id }) => isTested(id));
const answering = tested.filter(({ route }) => route.answers.kind !== 'events');

/** Routes about one resource. The name of an event, or of a model, is no resource: anybody may name any. */
const withIds = tested.filter(
  ({ route }) =>
    route.auth === 'key' &&
    route.path.includes('{') &&
    // What is no WebSocket is told so before anything else; tests of the relay open them.
    route.answers.kind !== 'socket' &&
    !/\{trigger_id\}|^[^{]*\{name/.test(route.path),
);

const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    '\u0000',
    '\ud800',
    '../../etc/passwd',
    "' or 1=1 --",
    '%00',
    '{}',
    '[]',
    'null',
    '-1',
    '1e999',
    '𝕏',
  ),
  fc.uuid(),
);
const hostileBody = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(
    fc.constantFrom(
      'name',
      'status',
      'scopes',
      'tool_level',
      'expires_at',
      'models',
      'spend_cap_micro_usd',
      'op',
      'args',
      'timeout_ms',
      'ok',
      'result',
      'error',
      'read',
      'archived',
      'endpoint',
      'keys',
      'period_s',
      'grace_s',
      'tz',
      'paused',
      '__proto__',
      'toString',
    ),
    fc.oneof(hostileText, fc.jsonValue({ maxDepth: 2 }), fc.integer(), fc.double(), fc.constant(null)),
  ),
);

/** The path under which a route of the relay stands besides. */
const prefixOf = ({ at }: Route): string => (at === 'relay' ? '/relay' : '');

function pathOf(route: Route, values: readonly string[]): string {
  let next = 0;
  return `${prefixOf(route)}${route.path}`.replace(
    /\{\w+\*?\}/g,
    () => encodeURIComponent(values[next++ % values.length]?.toWellFormed() ?? '') || '-',
  );
}

describe('contract', () => {
  const { gateway, account } = shared(() => openTest());

  test('documented and registered routes match one to one; the pages besides answer, to HEAD too', async () => {
    for (const { route } of routes) {
      const url = `${prefixOf(route)}${route.path}`.replace(/\{\w+\*\}$/, '*').replace(/\{(\w+)\}/g, ':$1');
      for (const method of methodsOf(route)) {
        assert.ok(gateway.app.http.hasRoute({ method, url }), `${method} ${route.path}`);
      }
    }
    const pages = [
      '/',
      '/home.css',
      '/home.js',
      '/openapi.json',
      '/install/host.mjs',
      '/install/host.mjs.sha256',
      ...[clients.npm, clients.pip].flatMap(({ path }) => [path, `${path}.sha256`]),
      clients.wheel,
      `${clients.wheel}.sha256`,
      '/docs',
      '/docs/',
      '/docs/start.js',
      '/docs/swagger-ui.css',
      '/docs/swagger-ui-bundle.js',
    ];
    const methods = routes.flatMap(({ route }) => methodsOf(route));
    const refused = withoutStreams.methods.length;
    // Outside of the contract each of seven methods reaches the feature.
    const raw = gateway.app.features.flatMap((feature) => feature.raw ?? []);
    for (const { prefix, at } of raw)
      assert.ok(
        gateway.app.http.hasRoute({ method: 'PUT', url: `${at === 'relay' ? '/relay' : ''}${prefix}*` }),
        prefix,
      );
    // Those that people open lead on without their slash too.
    const opened = raw.filter(({ isPage, prefix }) => isPage && prefix !== '/').length;
    // Those of the clients whose names have a hash (GET and HEAD).
    const hashed = 2;
    assert.equal(countRoutes(gateway), methods.length + 2 * pages.length + hashed + refused + 7 * raw.length + opened);
    for (const path of [...pages, '/health', '/health/ready', '/status']) {
      const [got, head] = await Promise.all(['GET', 'HEAD'].map((method) => fetch(gateway.url + path, { method })));
      assert.deepEqual([got?.status, head?.status], [200, 200], path);
      assert.equal(head?.headers.get('content-type'), got?.headers.get('content-type'), path);
      assert.equal(await head?.text(), '');
    }
  });

  test('a malformed request never meets a 5xx, and every failure is the envelope', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...answering),
        fc.array(hostileText, { minLength: 1, maxLength: 3 }),
        hostileBody,
        fc.dictionary(fc.constantFrom('os', 'limit', 'status', 'unread', 'rid', 'x'), hostileText),
        fc.option(fc.constantFrom(randomUUID(), 'not-a-uuid', ''), { nil: undefined }),
        async ({ id, route }, values, body, query, device) => {
          const text = new URLSearchParams(Object.entries(query).map(([k, v]) => [k, v.toWellFormed()])).toString();
          const answer = await http(gateway.url, `${pathOf(route, values)}?${text}`, {
            method: route.method,
            ...(route.auth === 'key' && { key: account.key }),
            ...(route.method !== 'GET' && { body }),
            ...(await callerOf(gateway, id, route, account, device === undefined ? {} : { 'x-svc-device': device })),
          });
          // Revoking or pausing the caller's own key would end the run; its id is never guessed.
          // No sandbox node runs here, which is documented.
          const told = answer.body?.error?.code === 'sandbox_capacity';
          assert.ok(answer.status < 500 || told, `${id}: ${answer.status} ${JSON.stringify(answer.body)}`);
          // Faults of a protocol of its own are told in its words.
          const isOurs = answer.body?.jsonrpc === undefined;
          if (answer.status >= 400 && isOurs) errorEnvelope.parse(answer.body);
          assert.ok(answer.headers.get('x-svc-trace-id'));
        },
      ),
      { numRuns: 1_500 },
    );
  });

  test('a raw body that is no JSON is a 400 on every route that takes one', async () => {
    await fc.assert(
      fc.asyncProperty(
        // Tokens of apps are tried where they are made.
        fc.constantFrom(...answering.filter(({ route }) => route.takes?.kind === 'json' && route.only !== 'token')),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter((text) => !isJson(text)),
        async ({ id, route }, raw) => {
          const answer = await http(gateway.url, pathOf(route, [randomUUID()]), {
            method: route.method,
            ...(await callerOf(gateway, id, route, account)),
            raw,
          });
          assert.equal(answer.status, 400, JSON.stringify(answer.body));
          assert.equal(answer.body.error.code, 'bad_request');
        },
      ),
      { numRuns: 200 },
    );
  });

  test('a route that needs a key answers 401 without one, before it looks at anything else', async () => {
    for (const { id, route } of tested.filter((entry) => entry.route.auth === 'key')) {
      const answer = await http(gateway.url, pathOf(route, ['not-a-uuid']), {
        method: route.method,
        headers: { 'x-svc-device': 'no-uuid', 'x-request-id': 'x'.repeat(200) },
        ...(route.method !== 'GET' && { raw: '{' }),
      });
      assert.equal(answer.status, 401, id);
      assert.equal(answer.body.error.code, 'invalid_api_key', id);
    }
  });

  test('every id of another account meets the same 404 as an unknown one, on every route', async () => {
    const stranger = await createAccount(gateway);
    const [login, strangers] = [await signIn(gateway, account), await signIn(gateway, stranger)];
    const host = await openHost(gateway, account);
    const pending = host.client.hosts.exec({ params: { device_id: host.deviceId }, body: { op: 'info' } });
    const frame = await host.next();
    const { schedule, run, hostId } = await scheduledRun(gateway, account);
    const away = randomUUID();
    await clientOf(gateway, account.key, away).devices.list();
    const waiting = await host.client.hosts.exec({
      params: { device_id: away },
      body: { op: 'info', if_offline: 'wait' },
    });
    /** By the operation, or else by the path in front of the id. */
    const foreign: Record<string, string> = {
      '/v1/keys/': account.keyId,
      '/v1/hosts/': host.deviceId,
      '/v1/machines/': host.deviceId,
      '/v1/hosts/exec/': waiting.req_id,
      'hosts.result': String(frame.data['req_id']),
      '/v1/devices/': host.deviceId,
      '/v1/schedules/': schedule.id,
      '/v1/schedule-runs/': run.id,
      '/v1/scheduler/hosts/': hostId,
      '/v1/heartbeats/': (await host.client.heartbeats.create({ body: { name: 'job', period_s: 60 } })).id,
      '/v1/sessions/': (await host.client.sessions.create({ body: {} })).id,
      '/v1/prompts/': (await host.client.prompts.create({ body: { prompt: 'Mine' } })).id,
      '/v1/sandboxes/': await sandboxOf(gateway, account),
      '/v1/uploads/': (await beginUpload(gateway, account, 5)).id,
      '/v1/transcripts/': (await host.client.transcripts.create({ body: {} })).transcript.id,
      '/v1/transcript-folders/': (await host.client.transcripts.createFolder({ body: { name: 'mine' } })).folder.id,
      '/v1/projects/': await projectOf(gateway, account),
      '/v1/environments/': await environmentOf(gateway, account),
      '/v1/connections/': (await connectionOf(gateway, account)).id,
      '/v1/accounts/': account.id,
      '/v1/me/passkeys/': await passkeyOf(gateway, login),
      '/v1/me/logins/': login.id,
      '/v1/me/links/': (await login.ask('POST', '/v1/me/links')).body.id,
      '/v1/notifications/': await notificationOf(gateway, account),
      '/v1/notifications/webhooks/': await webhookOf(gateway, account),
      '/v1/push/subscriptions/': await subscriptionOf(gateway, account),
    };
    const bodies: Record<string, unknown> = {
      'keys.update': { name: 'mine now' },
      'hosts.exec': { op: 'info' },
      'hosts.result': { ok: true, result: 'stolen' },
      'hosts.startExec': { token: 'a token of somebody else' },
      'schedules.update': { name: 'mine now' },
      'schedules.approveCommand': { command_hash: '0'.repeat(64) },
      'scheduler.heartbeat': { attempt: 1 },
      'scheduler.result': { attempt: 1, ok: true },
      'scheduler.decide': { decision: 'skip' },
      'scheduler.updateHost': { paused: true },
      'machines.update': { paused: true },
      'notifications.update': { read: true },
      'notifications.pushDelivered': { notification_id: await notificationOf(gateway, stranger) },
      'sandboxes.exec': { shell: 'id' },
      'sandboxes.runCode': { code: '1' },
      'sandboxes.fork': { count: 1 },
      'sandboxes.preview': { port: 3000 },
      'heartbeats.update': { name: 'mine now' },
      'sessions.update': { title: 'mine now' },
      'sessions.append': { expected_seq: 0, events: [{ type: 'message', turn_id: 't' }] },
      'sessions.sendControl': { type: 'stop' },
      'prompts.update': { status: 'done' },
      'prompts.match': { match_ref: 'x', match_turn_id: 'x' },
      'notifications.updateWebhook': { name: 'mine now' },
      'transcripts.update': { title: 'mine now' },
      'transcripts.finalize': { duration_ms: 1, uploads: [{ track: 'mic', upload_id: randomUUID() }] },
      'transcripts.live': { partial: 'mine' },
      'transcripts.bookmark': { at_ms: 1 },
      'transcripts.updateSpeaker': { name: 'Me' },
      'transcripts.updateUtterance': { text: 'mine' },
      'transcripts.share': {},
      'transcripts.updateFolder': { name: 'mine now' },
      'accounts.update': { suspended: true },
      'me.updatePasskey': { name: 'mine now' },
      'me.confirmLink': { number: 10 },
      'projects.update': { name: 'mine now' },
      'environments.update': { name: 'mine now' },
      'environments.addMember': { email: account.email, role: 'owner' },
      'environments.updateMember': { role: 'owner' },
      'environments.setSshKey': { public_key: 'mine' },
      'environments.publishPort': { visibility: 'public' },
      'environments.setSecret': { value: 'mine' },
    };
    const queries: Record<string, string> = {
      'scheduler.appendLog': '?attempt=1&offset=0',
      'hosts.appendOutput': '?offset=0',
    };
    const devices: Record<string, string> = {
      'hosts.result': host.deviceId,
      'hosts.startExec': away,
      'hosts.appendOutput': away,
    };
    /** What an id holds is asked for by a number of its own. */
    const inside: Record<string, string[]> = {
      'transcripts.updateSpeaker': ['S1'],
      'transcripts.updateUtterance': ['0'],
      'transcripts.acceptPrompt': ['0'],
      'environments.updateMember': [account.id],
      'environments.removeMember': [account.id],
      'environments.publishPort': ['3000'],
      'environments.linkPort': ['3000'],
      'environments.removePort': ['3000'],
      'environments.setSecret': ['TOKEN'],
      'environments.removeSecret': ['TOKEN'],
    };
    const tus = { 'tus-resumable': '1.0.0' };
    const headers: Record<string, Record<string, string>> = {
      'uploads.append': { ...tus, 'upload-offset': '0' },
      'uploads.remove': tus,
      'uploads.override': { ...tus, 'x-http-method-override': 'DELETE' },
    };
    assert.ok(withIds.length >= (testedFeature === undefined ? 20 : 1));
    for (const { id, route } of withIds) {
      const ask = (ids: string[]) =>
        http(gateway.url, pathOf(route, [...ids, ...(inside[id] ?? [])]) + (queries[id] ?? ''), {
          method: route.method,
          // Posing as the device helps nobody: its id means something only within its account.
          ...callerBy(route, stranger, strangers.token, {
            'x-svc-device': devices[id] ?? randomUUID(),
            ...headers[id],
          }),
          ...(route.method !== 'GET' && route.method !== 'DELETE' && { body: bodies[id] ?? {} }),
        });
      const prefix = route.path.slice(0, route.path.indexOf('{'));
      const theirs = await ask([foreign[id] ?? foreign[prefix] ?? assert.fail(`no foreign id for ${id}`)]);
      const unknown = await ask([randomUUID()]);
      assert.deepEqual([theirs.status, theirs.body.error.code], [404, 'not_found'], id);
      assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'not_found'], id);
    }
    await host.client.hosts.result({
      params: { req_id: String(frame.data['req_id']) },
      body: { ok: true, result: 'real' },
    });
    assert.equal((await pending).result, 'real');
    host.leave();
  });

  test('a malformed uuid in a path is a 400 on every route', async () => {
    for (const { id, route } of withIds) {
      const answer = await http(gateway.url, pathOf(route, ['1234']), {
        method: route.method,
        ...(await callerOf(gateway, id, route, account, { 'x-svc-device': randomUUID() })),
        ...(route.takes?.kind === 'json' && {
          body: { op: 'info', ok: true, name: 'x', attempt: 1, decision: 'skip' },
        }),
      });
      assert.equal(answer.status, 400, id);
      assert.ok(Object.keys(answer.body.error.details.fieldErrors).length > 0, id);
    }
  });
});

/** Signs in, once for each account. */
const loginsOf = new WeakMap<TestAccount, Promise<TestLogin>>();

/** What a request shows: the cookie of a login where the route takes no key. */
const callerBy = (
  { only, auth }: Route,
  { key }: TestAccount,
  token: string,
  headers: Record<string, string> = {},
): { key?: string; headers: Record<string, string> } =>
  only === 'login' ? { headers: { ...headers, ...headersOf(token) } } : { ...(auth === 'key' && { key }), headers };

/** The same of an account that stays: nobody deletes it, or signs out the browser that asks. */
async function callerOf(
  gateway: TestGateway,
  id: string,
  route: Route,
  account: TestAccount,
  headers: Record<string, string> = {},
) {
  const login = loginsOf.get(account) ?? signIn(gateway, account);
  loginsOf.set(account, login);
  return callerBy(id === 'me.remove' ? { ...route, only: 'token' } : route, account, (await login).token, headers);
}

/** A passkey of a signed-in person. */
async function passkeyOf({ kernel }: TestGateway, login: TestLogin): Promise<string> {
  const options = (await login.ask('POST', '/v1/me/passkeys/options')).body;
  const passkey = new Authenticator(new URL(kernel.config.authUrl).origin).create(options);
  return (await login.ask('POST', '/v1/me/passkeys', { passkey })).body.id;
}

/** A schedule with a run that a host of the account holds. */
async function scheduledRun(gateway: TestGateway, account: TestAccount) {
  const device = randomUUID();
  const ask = async (method: string, path: string, body?: unknown) =>
    (await http(gateway.url, path, { method, key: account.key, headers: { 'x-svc-device': device }, body })).body;
  // The fuzzed requests may have paused the account.
  await ask('POST', '/v1/schedules/resume', {});
  const schedule = await ask('POST', '/v1/schedules', {
    name: 'x',
    kind: 'shell',
    spec: { command: 'true' },
    trigger: { type: 'event', trigger_id: 'x' },
  });
  await ask('POST', `/v1/schedules/${schedule.id}/run`, {});
  await ask('POST', `/v1/schedules/${schedule.id}/approve-command`, { command_hash: schedule.command_hash });
  const { run } = await ask('POST', '/v1/scheduler/claim', {});
  const { hosts } = await ask('GET', '/v1/scheduler/hosts');
  return { schedule, run, hostId: hosts[0].id };
}

/** The id of a sandbox that the account has, on no node. */
async function sandboxOf({ kernel }: TestGateway, account: TestAccount): Promise<string> {
  const [row] = await kernel.sql<{ id: string }[]>`
    insert into sandboxes.sandboxes
      (id, account_id, key_id, state, backend, template, egress, metadata, created_at, expires_at)
    values (gen_random_uuid(), ${account.id}, ${account.keyId}, 'running', 'v2', 'svc-base', '{"mode":"none"}', '{}',
      now(), now() + interval '1 hour')
    returning id`;
  return row?.id as string;
}

/** The id of a webhook that the account has; nothing is sent there. */
async function webhookOf({ url }: TestGateway, { key }: TestAccount): Promise<string> {
  const body = { name: 'x', url: 'https://93.184.215.14/x', enabled: false };
  return (await http(url, '/v1/notifications/webhooks', { key, body })).body.id;
}

/** The id of a browser that the account has, after its notification was told; nothing is sent there. */
async function subscriptionOf({ url }: TestGateway, { key }: TestAccount): Promise<string> {
  const body = { endpoint: 'https://93.184.215.14/x', keys: newBrowser().json };
  return (await http(url, '/v1/push/subscriptions', { key, body })).body.subscription.id;
}

/** The id of a notification that the account has. */
async function notificationOf(gateway: TestGateway, account: TestAccount): Promise<string> {
  const { kernel } = gateway;
  const told = { accountId: account.id, dedupeKey: 'x', type: 'x', title: 'x', body: 'x', severity: 'info' } as const;
  await notify(kernel, kernel.sql, told);
  const { body } = await http(gateway.url, '/v1/notifications', { key: account.key });
  return body.notifications[0].id;
}

function countRoutes(gateway: TestGateway): number {
  const text = gateway.app.http.printRoutes();
  return [...text.matchAll(/\((?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)(?:, \w+)*\)/g)].reduce(
    (sum, match) => sum + match[0].split(',').length,
    0,
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return text.trim() === '';
  }
}
