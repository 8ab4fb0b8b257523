import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { launchBrowser, noBrowser } from '../../apps/server/src/testing.browser.ts';
import { killAll, temporaryFolder } from '../platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from '../sandboxes.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
/** The Node.js of the machine, which is older than the pinned one. */
const olderNode = spawnSync('sh', ['-c', 'command -v node'], { encoding: 'utf8' }).stdout.trim();

/** A program with the package, as its README says; the same words in Node.js and in a page. */
const story = `
  const names: string[] = [];
  const { id } = await client.schedules.create({
    body: { name: 'disk', kind: 'shell', spec: { command: 'df' }, trigger: { type: 'interval', every_s: 3600 } },
  });
  for await (const schedule of client.schedules.list.all({ query: { limit: 1 } })) names.push(schedule.name);
  await client.schedules.remove({ params: { id } });
  const failure = await client.keys.create({ body: { name: '' } }).catch((error: unknown) => error);
  const fields = isSvcError(failure, 'bad_request') ? Object.keys(failure.fieldErrors) : [];
  const traced = isSvcError(failure) && typeof failure.traceId === 'string';
  const nobody = await Host.find('nobody', client).catch((error: unknown) => (isSvcError(error) ? error.code : error));
  const sandbox = await Sandbox.create({ backend: 'v1' }, client);
  await sandbox.writeFile('say.sh', 'echo one; echo two >&2; exit 3');
  const heard: string[] = [];
  const { exit_code, stdout, stderr } = await sandbox.exec('sh say.sh', {
    onOutput: (text, stream) => void heard.push(stream + ' ' + text.trim()),
  });
  const cell = await sandbox.runCode('6 * 7');
  const files = (await sandbox.listFiles()).filter(({ type }) => type === 'file').map(({ path }) => path);
  await sandbox.remove();
  const gone = (await sandbox.record()).status;
  return { names, fields, traced, nobody, exit_code, stdout, stderr, heard: heard.sort(), cell: cell.result, files, gone };
`;
const expected = {
  names: ['disk'],
  fields: ['name'],
  traced: true,
  nobody: 'not_found',
  exit_code: 3,
  stdout: 'one\n',
  stderr: 'two\n',
  heard: ['stderr two', 'stdout one'],
  cell: '42',
  files: ['say.sh'],
  gone: 'destroyed',
};
const program = `import { type Client, createClient, Host, isSvcError, Sandbox } from '@svc/sdk';
async function tell(client: Client) {${story}}
// SVC_BASE_URL and SVC_API_KEY say where and who.
console.log(JSON.stringify(await tell(createClient())));
`;
const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'],
  strict: true,
  // The published types must be right by themselves.
  skipLibCheck: false,
  types: [],
};

describe('the SDK as it is installed from its tarball', { skip: withoutSandboxes }, () => {
  let p: SandboxPlatform;
  const folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);

  before(async () => {
    p = await startSandboxPlatform(0);
    writeFileSync(at('package.json'), '{"type":"module","private":true}');
    const install = ['install', '--silent', '--prefer-offline', `${p.url}/install/sdk.tgz`];
    await run('npm', install, { cwd: folder.path });
  });
  after(async () => {
    await p?.close();
    killAll();
    await folder.remove();
  });

  test('its types say what is sent and answered, to a compiler that checks them too', async () => {
    writeFileSync(at('story.ts'), program);
    writeFileSync(at('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['story.ts'] }));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [compiler, '-p', folder.path]).catch((error: { stdout?: string }) =>
      assert.fail(String(error.stdout).slice(0, 2_000)),
    );
  });

  for (const [which, node] of [
    ['the pinned Node.js', process.execPath],
    ['the Node.js of the machine', olderNode],
  ] as const) {
    test(`it does what its README says under ${which}`, async () => {
      const env = { ...process.env, SVC_BASE_URL: p.url, SVC_API_KEY: p.key };
      const { stdout } = await run(node, [at('story.js')], { cwd: folder.path, env });
      assert.deepEqual(JSON.parse(stdout), expected);
    });
  }

  test('it does the same in a browser', { skip: noBrowser }, async () => {
    await using chrome = await launchBrowser();
    const page = await chrome.newPage();
    const body = readFileSync(at('story.js'), 'utf8')
      .replace("'@svc/sdk'", "'/sdk.js'")
      .replace('createClient()', 'createClient(globalThis.settings)')
      .replace(/console\.log\(JSON\.stringify\((.*)\)\)/, 'globalThis.told = JSON.stringify($1)');
    // A page of the gateway's origin: other origins may not call it.
    await page.route(`${p.url}/sdk.js`, (route) =>
      route.fulfill({ contentType: 'text/javascript', path: at('node_modules/@svc/sdk/index.js') }),
    );
    await page.route(`${p.url}/story.js`, (route) => route.fulfill({ contentType: 'text/javascript', body }));
    await page.route(`${p.url}/story`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<script type="module" src="/story.js"></script>' }),
    );
    await page.addInitScript((settings) => Object.assign(globalThis, { settings }), { baseUrl: p.url, apiKey: p.key });
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(`${p.url}/story`);
    await page.waitForFunction(() => 'told' in globalThis).catch(() => assert.fail(faults.join('\n')));
    const told = await page.evaluate(() => (globalThis as { told?: string }).told ?? '');
    assert.deepEqual(JSON.parse(told), expected);
  });
});
