import type { FastifyInstance } from 'fastify';
import { htmlType, scriptType, servePage, styleType } from './pages.ts';

/** Nothing from elsewhere, nothing inline; no other page frames it. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Where the clients are. */
interface Clients {
  npm: string;
  pip: string;
}

const pageOf = ({ npm, pip }: Clients): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/home.css">
<script src="/home.js" defer></script>
</head>
<body>
<main>
<h1>svc</h1>
<p>One HTTP API that lets your devices work together: commands on each other, work on a timetable, code in sandboxes.</p>
<p id="state" role="status">Asking how it is …</p>
<ul id="checks"></ul>
<h2>Read</h2>
<ul>
<li><a href="/docs">Reference</a>: every route, with its fields and errors</li>
<li><a href="/openapi.json">OpenAPI document</a>, for clients that are generated</li>
<li><a href="/health/ready">Health</a> and <a href="/status">providers</a></li>
</ul>
<h2>First calls</h2>
<p>With your API key, from the first start or from <code>./svc keys create</code>:</p>
<pre>export SVC_API_KEY=svc_…
curl -H "Authorization: Bearer $SVC_API_KEY" <span class="base">{base_url}</span>/v1/keys</pre>
<p>Make a machine a host, then run a command on it from any other:</p>
<pre>export SVC_BASE_URL=<span class="base">{base_url}</span>
./svc host run --name box
./svc host exec box -- uname -a</pre>
<p>Write programs with a client of it, in TypeScript or Python:</p>
<pre>npm install <span class="base">{base_url}</span><span class="client">${npm}</span>
pip install <span class="base">{base_url}</span><span class="client">${pip}</span></pre>
<h2>Parts that run here</h2>
<p id="features">…</p>
</main>
</body>
</html>
`;

const style = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { max-width: 42rem; margin: 0 auto; padding: 1rem; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; border-radius: .4rem; }
code, pre { font: .875rem/1.5 ui-monospace, monospace; }
p, li { overflow-wrap: anywhere; }
#state { font-weight: 600; }
#state.ok { color: #1a7f37; }
#state.fault { color: #d1242f; }
`;

const script = `'use strict';
for (const each of document.querySelectorAll('.base')) each.textContent = location.origin;
// Lock files keep an address: the one whose bytes never change.
for (const each of document.querySelectorAll('.client'))
  fetch(each.textContent, { method: 'HEAD' }).then(({ ok, url }) => {
    if (ok) each.textContent = new URL(url).pathname;
  }, () => {});
const state = document.getElementById('state');
const checks = document.getElementById('checks');
const features = document.getElementById('features');
async function look() {
  try {
    const ask = async (path) => (await fetch(path)).json();
    const [ready, health] = await Promise.all([ask('/health/ready'), ask('/health')]);
    features.textContent = health.features.join(', ');
    state.textContent = ready.ok ? 'It runs, and is ready.' : 'It runs, and is not ready:';
    state.className = ready.ok ? 'ok' : 'fault';
    const faults = Object.entries(ready.checks).filter(([, check]) => !check.ok);
    checks.replaceChildren(...faults.map(([name, check]) => {
      const item = document.createElement('li');
      item.textContent = name + ': ' + check.error;
      return item;
    }));
  } catch {
    state.textContent = 'It does not answer.';
    state.className = 'fault';
  }
}
look();
window.setInterval(look, 10000);
`;

/** Serves a page at `/` that says what runs here: open, of this origin alone. */
export function mountHome(app: FastifyInstance, clients: Clients): void {
  servePage(app, '/', { type: htmlType, body: pageOf(clients), policy });
  servePage(app, '/home.css', { type: styleType, body: style });
  servePage(app, '/home.js', { type: scriptType, body: script });
}
