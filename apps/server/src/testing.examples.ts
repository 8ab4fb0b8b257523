import assert from 'node:assert/strict';
import { contract, type Contract, Json, restParameter, type Route } from '@svc/contract';
import { type AnyDoc, docOf, type Sample, samples } from '@svc/contract/docs';
import { withNulls } from '../../../packages/contract/src/nulls.testing.ts';
import { headersOf, signIn, type TestLogin } from './features/me/me.testing.ts';
import { http, type HttpAnswer, type TestAccount, type TestGateway } from './testing.ts';

/** Features whose examples need a node of sandboxes. */
const onNode: readonly (keyof Contract)[] = ['sandboxes', 'artifacts'];
/** Operations whose example is not sent, and why. */
export const notSent: Readonly<Record<string, string>> = {
  'realtime.connect': 'a WebSocket; clients of it speak to it in realtime.test.ts',
  'relay.serve': 'a WebSocket of daemons; they speak to it in relay.test.ts',
  'sandboxes.terminal': 'a WebSocket; clients speak to it in sandboxes.terminal.test.ts',
  'relay.attach': 'a WebSocket; clients speak to it in relay.test.ts',
  'relay.join': 'a WebSocket between relays; they speak to it in relay.test.ts',
  'keys.connect': 'takes the access token of an app; tests of the identity provider get one',
  'me.addPasskey': 'a passkey answers a challenge; an authenticator does in me.test.ts',
  'mcp.call': 'the protocol chooses the form of its answer; clients of it speak to it in mcp.test.ts',
};

/** Those that take a JSON body. */
export const bodyIds = (needsNode: boolean): string[] =>
  exampleIds(needsNode).filter((id) => routeOf(id).takes instanceof Json);

/** `operationId` of every operation with an example, of features that need a node or of the others. */
export const exampleIds = (needsNode: boolean): string[] =>
  Object.entries(contract)
    .filter(([feature]) => (onNode as readonly string[]).includes(feature) === needsNode)
    .flatMap(([feature, routes]) => Object.keys(routes).map((verb) => `${feature}.${verb}`))
    .filter((id) => notSent[id] === undefined);

/** The feature whose operations alone a run looks at: `SVC_TEST_FEATURE`; undefined: all. */
export const testedFeature = process.env['SVC_TEST_FEATURE'];

/** Whether this run looks at an operation. */
export const isTested = (id: string): boolean => testedFeature === undefined || id.startsWith(`${testedFeature}.`);

/** The route of an operation. */
export const routeOf = (id: string): Route => {
  const [feature = '', verb = ''] = id.split('.');
  return (contract as Record<string, Record<string, Route>>)[feature]?.[verb] ?? assert.fail(id);
};

/** Makes the real thing that a sample stands for, and answers its id or secret. */
export type Makers = Partial<Record<Sample, (scene: Scene) => Promise<string>>>;

/** How an example is sent. */
interface Sending {
  /** With `null` for every optional field of the body that it does not set, as strict clients send it. */
  nulls?: boolean;
  /** Runs when all is made, before it is sent. */
  ready?: () => Promise<void>;
}

/** The preparation of an example beyond the things that it names. */
export interface Preparation {
  /** Runs before anything is made or sent. */
  before?: (scene: Scene) => Promise<unknown>;
  /** Causes the frame of the example, once its stream is open. */
  whenOpen?: (scene: Scene) => Promise<unknown>;
}

/** An account of its own in which one example is sent, with real things in the places of the samples. */
export class Scene implements AsyncDisposable {
  readonly gateway: TestGateway;
  readonly account: TestAccount;
  readonly closing = new AsyncDisposableStack();
  readonly #makers: Makers;
  readonly #real = new Map<Sample, Promise<string>>();
  #login: Promise<TestLogin> | undefined;

  constructor(gateway: TestGateway, account: TestAccount, makers: Makers) {
    this.gateway = gateway;
    this.account = account;
    this.#makers = makers;
  }

  /** The real thing of a sample; made on first use. */
  id(sample: Sample): Promise<string> {
    const make =
      this.#makers[sample] ?? (() => assert.fail(`nothing makes the sample ${sample}: add it to the makers`));
    const known = this.#real.get(sample) ?? make(this);
    this.#real.set(sample, known);
    return known;
  }

  /** Says what stands for a sample. */
  set(sample: Sample, value: string): string {
    this.#real.set(sample, Promise.resolve(value));
    return value;
  }

  /** Whether the real thing of a sample was made. */
  has(sample: Sample): boolean {
    return this.#real.has(sample);
  }

  /** Whether a sample can be made here. */
  makes(sample: Sample): boolean {
    return this.#real.has(sample) || this.#makers[sample] !== undefined;
  }

  /** The cookie of a browser in which the account is signed in. */
  async login(): Promise<string> {
    this.#login ??= signIn(this.gateway, this.account);
    return (await this.#login).token;
  }

  /** The id of that browser. */
  async loginId(): Promise<string> {
    await this.login();
    return (await this.#login)?.id ?? assert.fail('no login');
  }

  /** Calls the API as the signed-in person; fails unless it goes well. */
  async callSignedIn(method: string, path: string, body?: object): Promise<HttpAnswer['body']> {
    const headers = headersOf(await this.login());
    const answer = await http(this.gateway.url, path, { method, headers, ...(body && { body }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Calls the API for the account; fails unless it goes well. */
  async call(method: string, path: string, body?: unknown, device?: string): Promise<HttpAnswer['body']> {
    const headers = { ...(device !== undefined && { 'x-svc-device': device }) };
    const { key } = this.account;
    const answer = await http(this.gateway.url, path, { method, key, headers, ...(body !== undefined && { body }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** A value of an example with the real things in the places of its samples. */
  async real<T>(value: T): Promise<T> {
    let text = JSON.stringify(value ?? null);
    for (const [name, placeholder] of Object.entries(samples)) {
      if (text.includes(placeholder)) text = text.replaceAll(placeholder, await this.id(name as Sample));
    }
    return JSON.parse(text) as T;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closing.disposeAsync();
  }
}

/** Makes what the example of an operation needs, and answers its request with the real things in the places of the samples. */
export async function prepareExample(scene: Scene, id: string, { before }: Preparation = {}): Promise<ExampleRequest> {
  const route = routeOf(id);
  const [feature = '', verb = ''] = id.split('.');
  const { example } = docOf(feature, verb);
  await before?.(scene);
  // The things that a list shows must exist; those that another method makes must not exist before. Those that a stream shows are
  // not made here: news of them may be on its way when it opens, and would come before the event that `whenOpen` causes.
  if (route.method === 'GET' && route.answers.kind !== 'events') {
    const shown = JSON.stringify(example.response ?? null);
    for (const [name, placeholder] of Object.entries(samples)) {
      if (shown.includes(placeholder) && scene.makes(name as Sample)) await scene.id(name as Sample);
    }
  }
  const { response: _response, frame: _frame, ...parts } = example;
  return scene.real<ExampleRequest>(parts);
}

/** Sends the example of an operation as it stands, and compares the answer with the one that it shows. */
export async function sendExample(
  scene: Scene,
  id: string,
  { before, whenOpen }: Preparation = {},
  { nulls = false, ready }: Sending = {},
): Promise<void> {
  const route = routeOf(id);
  const [feature = '', verb = ''] = id.split('.');
  const { example } = docOf(feature, verb);
  const { answers } = route;
  const request = await prepareExample(scene, id, before && { before });
  await ready?.();
  if (nulls && route.takes instanceof Json) request.body = withNulls(route.takes.schema, request.body);
  if (answers.kind === 'events') return compareEvent(scene, route, request, example, whenOpen);
  const answer = await sendRequest(scene, route, request);
  const text = await answer.text();
  const { frame } = example;
  const isPart = answers.kind === 'bytes' && request.headers?.['range'] !== undefined;
  const expected = answers.kind === 'json' ? answers.status : answers.kind === 'nothing' ? 204 : isPart ? 206 : 200;
  assert.equal(answer.status, expected, text.slice(0, 2_000));
  if (answers.kind === 'nothing') return assert.equal(text, '');
  if (answers.kind === 'bytes') {
    assert.ok(text.length > 0);
    if (!('schemas' in answers)) return;
    return compareEvent(scene, route, request, { response: frame }, whenOpen);
  }
  if (answers.kind === 'text') return assert.equal(text, example.response);
  if (answers.kind === 'socket') return assert.fail('a WebSocket is no example');
  if (answers.kind === 'relayed' && answers.type !== 'application/json') return assert.ok(text.length > 0);
  assert.deepEqual(answers.schema.safeParse(JSON.parse(text)).error?.issues ?? [], []);
  // There null sets back what the example leaves as it is.
  if (nulls && route.method === 'PATCH') return;
  compare(example.response, JSON.parse(text));
  if (frame === undefined) return;
  const frames = await sendRequest(scene, route, request, { accept: 'text/event-stream' });
  const all = [...(await frames.text()).matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json));
  const { type } = frame as { type: string };
  compare(frame, all.find((one) => one.type === type) ?? assert.fail(`no frame ${type}`));
}

/** The request of an example. */
export type ExampleRequest = {
  -readonly [P in keyof Omit<AnyDoc['example'], 'response' | 'frame'>]: AnyDoc['example'][P];
};

/** How a request is sent, beyond what it says. */
interface SendingParts {
  accept?: string | undefined;
  signal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>>;
  /** Of another gateway than the scene's. */
  url?: string;
}

/** Sends a request as the account of the scene. */
export async function sendRequest(
  scene: Scene,
  route: Route,
  request: ExampleRequest,
  { accept, signal, headers: further = {}, url = scene.gateway.url }: SendingParts = {},
): Promise<Response> {
  const { params = {}, query = {}, headers = {}, body } = request;
  const rest = restParameter(route);
  const path = route.path.replace(/\{(\w+)\*?\}/g, (_, name: string) => {
    const value = encodeURIComponent(String(params[name]));
    return name === rest ? value.replaceAll('%2F', '/') : value;
  });
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  const isJson = route.takes instanceof Json;
  const isForm = route.takes?.kind === 'bytes' && route.takes.type.startsWith('multipart/');
  const type = isJson
    ? 'application/json'
    : isForm
      ? 'multipart/form-data; boundary=EXAMPLE'
      : route.takes?.kind === 'bytes'
        ? route.takes.type
        : 'application/octet-stream';
  return fetch(`${url}${route.at === 'relay' ? '/relay' : ''}${path}${search && `?${search}`}`, {
    method: body !== undefined && route.also ? route.also : route.method,
    headers: {
      ...(route.only === 'login'
        ? headersOf(await scene.login())
        : route.auth === 'key' && { authorization: `Bearer ${scene.account.key}` }),
      ...(body !== undefined && { 'content-type': type }),
      ...(accept && { accept }),
      ...(headers as Record<string, string>),
      ...further,
    },
    ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as string) }),
    ...(signal && { signal }),
  });
}

/** Opens the stream, causes the event that the example shows, and compares it. */
async function compareEvent(
  scene: Scene,
  route: Route,
  request: ExampleRequest,
  { response }: AnyDoc['example'],
  whenOpen: Preparation['whenOpen'],
): Promise<void> {
  const shown = response as { event: string; data: unknown };
  const abort = new AbortController();
  using _closing = { [Symbol.dispose]: () => abort.abort() };
  const answer = await sendRequest(scene, route, request, { accept: 'text/event-stream', signal: abort.signal });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  await whenOpen?.(scene);
  let text = '';
  for await (const chunk of (answer.body ?? assert.fail('no body')).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const found = new RegExp(`^event: ${shown.event}\ndata: (.*)\n`, 'm').exec(text);
    if (!found) continue;
    const schema = 'schemas' in route.answers ? route.answers.schemas[shown.event] : undefined;
    const data = JSON.parse(found[1] ?? '');
    assert.deepEqual(schema?.safeParse(data).error?.issues ?? [], []);
    return compare(shown.data, data);
  }
  assert.fail(`the stream ended without ${shown.event}: ${text}`);
}

/** Fields whose value tells a reader what happened: an example must have the real one. */
const telling = new Set(
  (
    'status state kind type object ok scan severity op paused mime backend template path result error attempt ' +
    'exit_code stdout log_tail command_sha256 input_sha256 expr command_hash next_run_at upcoming[] next_runs[] until'
  ).split(' '),
);

/** Every field of a value at every level with its type; of an array, those of its first element. */
function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [`${path}[]: empty`] : fieldsOf(value[0], `${path}[]`);
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, part]) => fieldsOf(part, `${path}.${name}`));
  }
  // The path of an act holds an id.
  const isTelling = telling.has(path.slice(path.lastIndexOf('.') + 1)) && !path.endsWith('actions[].path');
  return [`${path}: ${isTelling ? JSON.stringify(value) : value === null ? 'null' : typeof value}`];
}

function compare(shown: unknown, real: unknown): void {
  assert.deepEqual(fieldsOf(shown).toSorted(), fieldsOf(real).toSorted(), `really: ${JSON.stringify(real, null, 2)}`);
}
