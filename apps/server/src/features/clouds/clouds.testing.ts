import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** How a fake provider fails the next call to an action. */
export interface Fault {
  /** `POST /servers`, or an action of EC2; unset: any. */
  action?: string;
  status?: number;
  code?: string;
  message?: string;
  headers?: Record<string, string>;
  /** It never answers; `lose`: it does what it is asked for, and its answer is lost. */
  how?: 'hang' | 'lose';
  /** Every call from now on, until `faults` is emptied. */
  forGood?: boolean;
}

/** A machine of a fake provider. */
export interface FakeMachine {
  id: string;
  name: string;
  type: string;
  status: string;
  labels: Record<string, string>;
  userData: string;
  once: string;
}

/** A call that a fake provider got. */
export interface Call {
  action: string;
  headers: IncomingMessage['headers'];
  fields: Record<string, string>;
  body: string;
}

type Reply = { status: number; body: string; headers?: Record<string, string> };

/** What the fakes share: their server, their faults, their machines. Machines change when `settle` is called, not at once. */
abstract class FakeCloud implements AsyncDisposable {
  readonly calls: Call[] = [];
  readonly machines = new Map<string, FakeMachine>();
  faults: Fault[] = [];
  /** Machines do at once what they are asked for. */
  isQuick = false;
  #listeners: (() => void)[] = [];
  #made = 0;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async listen(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The calls to an action so far. */
  count(action: string): number {
    return this.calls.filter((call) => call.action === action).length;
  }

  /** Resolves at the next call. */
  called(): Promise<void> {
    return new Promise((resolve) => this.#listeners.push(resolve));
  }

  /** Every machine gets to where it was on its way to. */
  settle(): void {
    for (const [id, machine] of this.machines) {
      machine.status = this.next(machine.status);
      if (machine.status === 'gone') this.machines.delete(id);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  protected add(machine: Omit<FakeMachine, 'id'>): FakeMachine {
    this.#made += 1;
    const one = { id: this.idOf(this.#made), ...machine };
    this.machines.set(one.id, one);
    return one;
  }

  protected abstract idOf(n: number): string;
  protected abstract next(status: string): string;
  protected abstract read(request: IncomingMessage, body: string): Call;
  protected abstract act(call: Call): Reply;
  protected abstract refuse(status: number, code: string, message: string): Reply;

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = this.read(request, (await buffer(request)).toString());
    this.calls.push(call);
    const at = this.faults.findIndex(({ action }) => action === undefined || action === call.action);
    const fault = this.faults[at];
    if (fault && !fault.forGood) this.faults.splice(at, 1);
    const { status = 500, code = 'service_error', message = 'broken', headers, how } = fault ?? {};
    const reply = fault && how !== 'lose' ? this.refuse(status, code, message) : this.act(call);
    if (this.isQuick) this.settle();
    for (const resolve of this.#listeners.splice(0)) resolve();
    if (how === 'lose') return void response.destroy();
    if (how !== 'hang') response.writeHead(reply.status, { ...reply.headers, ...headers }).end(reply.body);
  }
}

/** Hetzner Cloud as its documentation describes it, of what svc asks for. */
export class FakeHetzner extends FakeCloud {
  /** Tokens that are good. */
  token = 'hetzner-secret';

  protected idOf = (n: number): string => String(4_200 + n);

  protected next = (status: string): string =>
    ({ initializing: 'running', starting: 'running', stopping: 'off', deleting: 'gone' })[status] ?? status;

  protected read(request: IncomingMessage, body: string): Call {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake');
    const path = pathname.replace(/^\/v1/, '').replace(/\d+/, 'ID');
    const fields = { ...Object.fromEntries(searchParams), id: /\d+/.exec(pathname.slice(3))?.[0] ?? '' };
    return { action: `${request.method} ${path}`, headers: request.headers, fields, body };
  }

  protected refuse = (status: number, code: string, message: string): Reply =>
    this.#say(status, { error: { code, message } });

  protected act({ action, headers, fields, body }: Call): Reply {
    if (headers.authorization !== `Bearer ${this.token}`)
      return this.refuse(401, 'unauthorized', 'unable to authenticate');
    if (action === 'POST /servers') return this.#create(JSON.parse(body) as Record<string, string>);
    if (action === 'GET /servers') return this.#list(fields);
    if (action === 'GET /server_types')
      return this.#say(200, { server_types: fields['name'] === 'cx22' ? [{ name: 'cx22' }] : [] });
    const machine = this.machines.get(fields['id'] ?? '');
    if (!machine) return this.refuse(404, 'not_found', 'server not found');
    if (action === 'DELETE /servers/ID') machine.status = 'deleting';
    else if (action.endsWith('/poweron')) machine.status = 'starting';
    else if (action.endsWith('/shutdown') || action.endsWith('/poweroff')) machine.status = 'stopping';
    else return this.refuse(404, 'not_found', 'no such action');
    return this.#say(201, { action: { id: 1, status: 'running' } });
  }

  #create(given: Record<string, unknown>): Reply {
    const name = String(given['name']);
    if ([...this.machines.values()].some((one) => one.name === name))
      return this.refuse(409, 'uniqueness_error', 'server name is already used');
    const machine = this.add({
      name,
      type: String(given['server_type']),
      status: 'initializing',
      labels: given['labels'] as Record<string, string>,
      userData: String(given['user_data']),
      once: '',
    });
    return this.#say(201, { server: this.#view(machine), action: { id: 1 }, root_password: 'root-password' });
  }

  #list({ label_selector: selector = '', page = '1', per_page: size = '25' }: Record<string, string>): Reply {
    const wanted = selector.split(',').map((part) => part.split('=='));
    const all = [...this.machines.values()].filter(({ labels }) => wanted.every(([k = '', v]) => labels[k] === v));
    const from = (Number(page) - 1) * Number(size);
    const next = from + Number(size) < all.length ? Number(page) + 1 : null;
    const servers = all.slice(from, from + Number(size)).map((one) => this.#view(one));
    return this.#say(200, { servers, meta: { pagination: { page: Number(page), next_page: next } } });
  }

  #view = ({ id, name, status, labels }: FakeMachine) => ({
    id: Number(id),
    name,
    status,
    labels,
    public_net: { ipv4: { ip: '192.0.2.7' } },
  });

  #say = (status: number, body: object): Reply => ({
    status,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
}

/** EC2's Query API as its documentation describes it, of what svc asks for. */
export class FakeEc2 extends FakeCloud {
  protected idOf = (n: number): string => `i-${String(n).padStart(17, '0')}`;

  protected next = (status: string): string =>
    ({ pending: 'running', stopping: 'stopped', 'shutting-down': 'terminated', terminated: 'gone' })[status] ?? status;

  protected read(request: IncomingMessage, body: string): Call {
    const fields = Object.fromEntries(new URLSearchParams(body));
    return { action: fields['Action'] ?? '', headers: request.headers, fields, body };
  }

  protected refuse = (status: number, code: string, message: string): Reply => ({
    status,
    body: `<?xml version="1.0"?><Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors></Response>`,
  });

  protected act({ action, headers, fields }: Call): Reply {
    if (!/^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/[\w-]+\/ec2\/aws4_request, /.test(headers.authorization ?? ''))
      return this.refuse(401, 'AuthFailure', 'not able to validate the credentials');
    if (action === 'RunInstances') return this.#run(fields);
    if (action === 'DescribeInstances') return this.#describe(fields);
    if (action === 'DescribeInstanceTypes')
      return this.#say(
        action,
        `<instanceTypeSet><item><instanceType>${fields['InstanceType.1']}</instanceType></item></instanceTypeSet>`,
      );
    const machine = this.machines.get(fields['InstanceId.1'] ?? '');
    if (!machine) return this.refuse(400, 'InvalidInstanceID.NotFound', 'the instance does not exist');
    machine.status =
      { StartInstances: 'pending', StopInstances: 'stopping', TerminateInstances: 'shutting-down' }[action] ??
      machine.status;
    return this.#say(action, '<instancesSet/>');
  }

  #run(fields: Record<string, string>): Reply {
    const once = fields['ClientToken'] ?? '';
    const known = [...this.machines.values()].find((one) => one.once === once);
    const userData = Buffer.from(fields['UserData'] ?? '', 'base64').toString();
    if (known && known.userData !== userData)
      return this.refuse(400, 'IdempotentParameterMismatch', 'other parameters');
    const labels = Object.fromEntries(
      [1, 2, 3].map((n) => [fields[`TagSpecification.1.Tag.${n}.Key`], fields[`TagSpecification.1.Tag.${n}.Value`]]),
    ) as Record<string, string>;
    const type = fields['InstanceType'] ?? '';
    const machine = known ?? this.add({ name: '', type, status: 'pending', labels, userData, once });
    return this.#say('RunInstances', `<instancesSet>${this.#view(machine)}</instancesSet>`);
  }

  #describe(fields: Record<string, string>): Reply {
    const wanted = [1, 2].flatMap((n) => {
      const name = fields[`Filter.${n}.Name`];
      return name === undefined ? [] : [[name.replace('tag:', ''), fields[`Filter.${n}.Value.1`]] as const];
    });
    const all = [...this.machines.values()].filter(({ labels }) => wanted.every(([k, v]) => labels[k] === v));
    // A page of one, so that whoever lists has to ask on.
    const from = Number(fields['NextToken'] ?? 0);
    const items = all
      .slice(from, from + 1)
      .map((one) => `<item><instancesSet>${this.#view(one)}</instancesSet></item>`);
    const next = from + 1 < all.length ? `<nextToken>${from + 1}</nextToken>` : '';
    return this.#say('DescribeInstances', `<reservationSet>${items.join('')}</reservationSet>${next}`);
  }

  #view = ({ id, status, labels }: FakeMachine): string => {
    const tags = Object.entries(labels).map(([key, value]) => `<item><key>${key}</key><value>${value}</value></item>`);
    return `<item><instanceId>${id}</instanceId><instanceState><code>16</code><name>${status}</name></instanceState>
      <ipAddress>192.0.2.8</ipAddress><tagSet>${tags.join('')}</tagSet></item>`;
  };

  #say = (action: string, body: string): Reply => ({
    status: 200,
    body: `<?xml version="1.0" encoding="UTF-8"?>
<${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>${body}</${action}Response>`,
  });
}
