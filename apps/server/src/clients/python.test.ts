import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { openCuts } from '../testing.cuts.ts';
import { shared } from '../testing.shared.ts';
import { clientOf, openTest } from '../testing.ts';

const run = promisify(execFile);
const python = spawnSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).stdout.trim();
const source = resolve(import.meta.dirname, '../../../../packages/sdk-python/src');

describe('the Python client', { skip: python === '' && 'no python3 on this machine' }, () => {
  const { gateway, account } = shared(() => openTest());
  const tell = async (program: string, url = gateway.url): Promise<unknown> => {
    const env = { ...process.env, PYTHONPATH: source, PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await run(python, ['-c', program], {
      env: { ...env, SVC_BASE_URL: url, SVC_API_KEY: account.key },
    });
    return JSON.parse(stdout);
  };
  const namesOf = async (prefix: string): Promise<string[]> => {
    const names: string[] = [];
    for await (const { name } of clientOf(gateway, account.key).heartbeats.list.all()) names.push(name);
    return names.filter((name) => name.startsWith(prefix)).sort();
  };

  test('its two clients say the same of everything', async () => {
    const story = (isAsync: boolean): string => {
      const [wait, async_, of] = isAsync ? ['await ', 'async ', 'Async'] : ['', '', ''];
      return `
import asyncio, json, warnings
from svc_sdk import ${of}Client as Client, ${of}Host as Host, CallOptions, SvcError

${async_}def main():
    client = Client()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        made = ${wait}client.heartbeats.create({"name": "é ${of}", "period_s": 60, "perod": 1})
    names = [monitor["name"] ${async_}for monitor in client.heartbeats.list_all(limit=1)]
    token = made["ping_url"].split("/")[-1]
    said = ${wait}client.heartbeats.signal(token, "fail", "the disk is full")
    pings = (${wait}client.heartbeats.pings(made["id"]))["pings"]
    ${wait}client.heartbeats.remove(made["id"])
    codes = []
    for call in (
        lambda: client.keys.create({"name": ""}),
        lambda: client.heartbeats.get(made["id"]),
        lambda: Host.find(client, "nobody"),
        lambda: Client("http://127.0.0.1:9", retries=0).keys.list(),
        lambda: Client(api_key="svc_wrong").keys.list(),
        lambda: client.keys.list(limit="x", options=CallOptions(headers={"x-request-id": "mine"})),
    ):
        try:
            ${wait}call()
        except SvcError as error:
            codes.append([error.status, error.code, sorted(error.field_errors), error.trace_id is not None])
    ready = (${wait}client.health.ready())["ok"]
    return {"names": names, "said": said, "pings": [ping.get("body") for ping in pings], "codes": codes, "ready": ready,
        "warned": [str(each.message) for each in warned]}

print(json.dumps(${isAsync ? 'asyncio.run(main())' : 'main()'}))
`;
    };
    const expected = {
      said: 'OK',
      pings: ['the disk is full'],
      codes: [
        [400, 'bad_request', ['name'], true],
        [404, 'not_found', [], true],
        [0, 'not_found', [], false],
        [0, 'connection_error', [], false],
        [401, 'invalid_api_key', [], true],
        [400, 'bad_request', ['limit'], true],
      ],
      ready: true,
      warned: ['the gateway ignores these fields: perod'],
    };
    assert.deepEqual(await tell(story(false)), { names: ['é '], ...expected });
    assert.deepEqual(await tell(story(true)), { names: ['é Async'], ...expected });
  });

  test('a write whose answer was cut anywhere is done once, by both', async () => {
    await using cuts = await openCuts(gateway.url, (nth) => [0, undefined, 40, 700, undefined][nth % 5]);
    const program = `
import asyncio, json
from svc_sdk import AsyncClient, Client
for n in range(4):
    Client(retries=8).heartbeats.create({"name": f"cut {n}", "period_s": 60})
async def main():
    client = AsyncClient(retries=8)
    await asyncio.gather(*(client.heartbeats.create({"name": f"cut async {n}", "period_s": 60}) for n in range(4)))
asyncio.run(main())
print("true")`;
    await tell(program, cuts.url);
    assert.ok(cuts.count() > 8);
    const expected = [0, 1, 2, 3].flatMap((n) => [`cut ${n}`, `cut async ${n}`]).sort();
    assert.deepEqual(await namesOf('cut'), expected);
  });

  test('a gateway that is silent is told from one that is away, by both', async () => {
    await using silent = new AsyncDisposableStack();
    const server = createServer(() => {});
    await once(server.listen(0, '127.0.0.1'), 'listening');
    silent.defer(() => void server.close());
    const program = `
import asyncio, json
from svc_sdk import AsyncClient, Client, SvcError
codes = []
try:
    Client(timeout=0.2, retries=0).keys.list()
except SvcError as error:
    codes.append(error.code)
async def main():
    try:
        await AsyncClient(timeout=0.2, retries=0).keys.list()
    except SvcError as error:
        codes.append(error.code)
asyncio.run(main())
print(json.dumps(codes))`;
    const { port } = server.address() as AddressInfo;
    assert.deepEqual(await tell(program, `http://127.0.0.1:${port}`), ['timeout', 'timeout']);
  });

  test('a stream is read as it comes, and a task that is cancelled ends its request', async () => {
    const program = `
import asyncio, json
from svc_sdk import AsyncClient
async def main():
    client, heard, opened = AsyncClient(device={"id": "${randomUUID()}"}), [], asyncio.Event()
    async def listen():
        async for event, data in client.hosts.stream():
            heard.append(event)
            opened.set()
    listening = asyncio.create_task(listen())
    await asyncio.wait_for(opened.wait(), 60)
    listening.cancel()
    try:
        await listening
    except asyncio.CancelledError:
        heard.append("cancelled")
    return heard
print(json.dumps(asyncio.run(main())))`;
    const before = gateway.kernel.streams.count();
    assert.deepEqual(await tell(program), ['ready', 'cancelled']);
    assert.equal(gateway.kernel.streams.count(), before);
  });

  test('its types are types: each can be looked up, down to the last', async () => {
    const program = `
import json, typing
from svc_sdk import operations, types
for name, kind in vars(types).items():
    if isinstance(kind, type):
        typing.get_type_hints(kind, vars(types))
for feature in vars(operations).values():
    for function in vars(feature).values() if getattr(feature, "__module__", "") == operations.__name__ else ():
        if callable(function):
            typing.get_type_hints(function, {**vars(typing), **vars(operations)})
print("true")`;
    assert.equal(await tell(program), true);
  });
});
