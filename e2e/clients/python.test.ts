import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { killAll } from '../platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from '../sandboxes.ts';

const run = promisify(execFile);
const python = spawnSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).stdout.trim();
const source = resolve(import.meta.dirname, '../../packages/sdk-python/src');

/** A program with the package, as its README says. */
const story = `
import json
from svc_sdk import CallOptions, Client, Host, Sandbox, SvcError

client = Client()
made = client.schedules.create({
    "name": "disk", "kind": "shell", "spec": {"command": "df"}, "trigger": {"type": "interval", "every_s": 3600},
})
names = [schedule["name"] for schedule in client.schedules.list_all(limit=1)]
client.schedules.remove(made["id"])
try:
    client.keys.create({"name": ""})
    fields, traced = [], False
except SvcError as error:
    fields, traced = sorted(error.field_errors), error.trace_id is not None
try:
    nobody = Host.find(client, "nobody").record
except SvcError as error:
    nobody = error.code
heard = []
with Sandbox.create(client, backend="v1") as sandbox:
    sandbox.write_file("say.sh", "echo one; echo two >&2; exit 3")
    ran = sandbox.exec("sh say.sh", on_output=lambda text, stream: heard.append(stream + " " + text.strip()))
    again = sandbox.exec(["sh", "say.sh"], timeout_seconds=5)
    cell = sandbox.run_code("6 * 7")["result"]
    files = [entry["path"] for entry in sandbox.list_files() if entry["type"] == "file"]
    same = sandbox.read_text("say.sh")
    sandbox.set_timeout(3600)
    listed = [each["id"] for each in Sandbox.list(client)] == [sandbox.id]
gone = sandbox.record()["status"]
monitor = client.heartbeats.create({"name": "job", "period_s": 60})
client.heartbeats.signal(monitor["ping_url"].split("/")[-1], "fail", "the disk is full")
pings = [(ping["kind"], ping.get("body")) for ping in client.heartbeats.pings(monitor["id"])["pings"]]
twice = {client.keys.create({"name": "x"}, options=CallOptions(idempotency_key=key))["name"] for key in ("a", "b")}
try:
    Client("http://127.0.0.1:9", retries=0).keys.list()
    nowhere = None
except SvcError as error:
    nowhere = error.code
print(json.dumps({
    "names": names, "fields": fields, "traced": traced, "nobody": nobody, "exit_code": ran["exit_code"],
    "output": [ran["stdout"], ran["stderr"]], "same": again["stdout"] == ran["stdout"], "heard": sorted(heard),
    "cell": cell, "files": files, "read": same, "listed": listed, "gone": gone, "pings": pings, "nowhere": nowhere,
    "ready": client.health.ready()["ok"], "keys": sorted(twice),
}))
`;

/** The same on `asyncio`. */
const awaited = `
import asyncio, json
from svc_sdk import AsyncClient, AsyncSandbox

async def main():
    client, heard = AsyncClient(), []
    async with await AsyncSandbox.create(client, backend="v2") as sandbox:
        await sandbox.write_file("say.sh", "echo one; echo two >&2; exit 3")
        ran = await sandbox.exec("sh say.sh", on_output=lambda text, stream: heard.append(stream + " " + text.strip()))
        cell = (await sandbox.run_code("x = 41; x + 1"))["result"]
        files = [entry["path"] for entry in await sandbox.list_files() if entry["type"] == "file"]
        await sandbox.set_timeout(3600)
        listed = [each["id"] async for each in AsyncSandbox.list(client)] == [sandbox.id]
        copies = await sandbox.fork(2)
        forked = [(await copy.run_code("x"))["result"] for copy in copies]
        for copy in copies:
            await copy.remove()
    gone = (await sandbox.record())["status"]
    return {
        "exit_code": ran["exit_code"], "heard": sorted(heard), "cell": cell, "files": files, "listed": listed,
        "forked": forked, "gone": gone,
    }
print(json.dumps(asyncio.run(main())))
`;

describe('the Python client', { skip: python === '' ? 'no python3 on this machine' : withoutSandboxes }, () => {
  let p: SandboxPlatform;
  before(async () => {
    p = await startSandboxPlatform(0);
  });
  after(async () => {
    await p?.close();
    killAll();
  });

  test('does what its README says', async () => {
    const env = { ...process.env, PYTHONPATH: source, PYTHONDONTWRITEBYTECODE: '1', SVC_BASE_URL: p.url };
    const { stdout } = await run(python, ['-c', story], { env: { ...env, SVC_API_KEY: p.key } });
    assert.deepEqual(JSON.parse(stdout), {
      names: ['disk'],
      fields: ['name'],
      traced: true,
      nobody: 'not_found',
      exit_code: 3,
      output: ['one\n', 'two\n'],
      same: true,
      heard: ['stderr two', 'stdout one'],
      cell: '42',
      files: ['say.sh'],
      read: 'echo one; echo two >&2; exit 3',
      listed: true,
      gone: 'destroyed',
      pings: [['fail', 'the disk is full']],
      nowhere: 'connection_error',
      ready: true,
      keys: ['x'],
    });
  });

  test('does the same where it is awaited, and forks', async () => {
    const env = { ...process.env, PYTHONPATH: source, PYTHONDONTWRITEBYTECODE: '1', SVC_BASE_URL: p.url };
    const { stdout } = await run(python, ['-c', awaited], { env: { ...env, SVC_API_KEY: p.key } });
    assert.deepEqual(JSON.parse(stdout), {
      exit_code: 3,
      heard: ['stderr two', 'stdout one'],
      cell: '42',
      files: ['say.sh'],
      listed: true,
      forked: ['41', '41'],
      gone: 'destroyed',
    });
  });
});
