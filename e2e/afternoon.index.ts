import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where npm gets packages from on this machine. */
const registry = execFileSync('npm', ['config', 'get', 'registry'], {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
})
  .trim()
  .replace(/\/$/, '');

/** A wheel as pip takes it, made with nothing but Python's own zip. */
const makeWheel = `
import sys, zipfile
name = sys.argv[1] + '/tide-0.1.0-py3-none-any.whl'
info = 'tide-0.1.0.dist-info/'
with zipfile.ZipFile(name, 'w') as wheel:
    wheel.writestr('tide.py', 'def level(hour):\\n    return [3, 1, 4][hour % 3]\\n')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tide\\nVersion: 0.1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', ''.join(f'{n},,\\n' for n in ('tide.py', info + 'METADATA', info + 'WHEEL', info + 'RECORD')))
`;

/** An index of this machine: one wheel for pip, and for npm what the machine's own registry has. */
export interface PackageIndex extends AsyncDisposable {
  /** The machine's name, under which sandboxes reach it. */
  readonly host: string;
  readonly pypi: string;
  readonly npm: string;
  /** Settings that let the platform reach it. */
  readonly settings: Record<string, string>;
}

/** Opens the index on a port of its own. */
export async function openIndex(): Promise<PackageIndex> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-index-'));
  execFileSync('python3', ['-c', makeWheel, folder]);
  const file = 'tide-0.1.0-py3-none-any.whl';
  const wheel = readFileSync(join(folder, file));
  const hash = createHash('sha256').update(wheel).digest('hex');
  const host = hostname();
  let base = '';
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const html = (text: string): void => void response.writeHead(200, { 'content-type': 'text/html' }).end(text);
    if (path === '/simple/tide/') html(`<a href="/files/${file}#sha256=${hash}">${file}</a>`);
    else if (path === `/files/${file}`) response.writeHead(200).end(wheel);
    else if (path.startsWith('/npm/')) void mirror(path.slice('/npm'.length), `${base}/npm`, response);
    else response.writeHead(404).end();
  });
  await once(server.listen(0, '0.0.0.0'), 'listening');
  const { port } = server.address() as AddressInfo;
  base = `http://${host}:${port}`;
  return {
    host,
    pypi: `${base}/simple/`,
    npm: `${base}/npm/`,
    settings: {
      SVC_SANDBOX_PYPI_HOSTS: host,
      SVC_SANDBOX_NPM_HOSTS: host,
      SVC_FETCH_ALLOW_HOSTS: host,
      SVC_FETCH_PORTS: `80,443,${port}`,
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Passes on the registry's answer; packages are fetched through here too. */
async function mirror(path: string, own: string, response: ServerResponse): Promise<void> {
  try {
    const answer = await fetch(`${registry}${path}`);
    const type = answer.headers.get('content-type') ?? 'application/octet-stream';
    const bytes = Buffer.from(await answer.arrayBuffer());
    const body = type.includes('json') ? bytes.toString().replaceAll(registry, own) : bytes;
    response.writeHead(answer.status, { 'content-type': type }).end(body);
  } catch {
    response.writeHead(502).end();
  }
}
