import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { systemClock } from '../../../kernel/base/clock.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { asOwner, http, openTest, startGateway, until } from '../../../testing.ts';
import { trustCertificate } from '../../../testing.tls.ts';
import { notify } from '../index.ts';
import { TestPushService, told, verifyWebhook } from '../notifications.testing.ts';

const base = '/v1/notifications/webhooks';

describe('webhooks of notifications: a process that is killed', () => {
  test('what it was sending is sent again by another one, under the same id', async () => {
    await using opening = new AsyncDisposableStack();
    const receiver = opening.use(new TestPushService());
    const certificate = opening.use(trustCertificate());
    await receiver.listen(certificate);
    const folder = mkdtempSync(join(tmpdir(), 'svc-ca-'));
    opening.defer(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'ca.pem'), certificate.cert);
    const settings = { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: String(receiver.port) };
    const t = opening.use(await openTest({ settings }));
    const { kernel, url } = t.gateway;
    const hook = { name: 'x', url: `https://127.0.0.1:${receiver.port}/hang` };
    const { secret, id } = (await http(url, base, { key: t.account.key, body: hook })).body;
    await t.gateway.close();
    assert.ok('database' in t.database.target);
    const program = join(import.meta.dirname, '../notifications.outbox.testing.ts');
    const child = spawn(process.execPath, [program, t.database.target.database, String(receiver.port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
    });
    opening.defer(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    // The gateway is closed, its bus too; the outbox looks by itself.
    const silent = { ...kernel, bus: { ...kernel.bus, publish: () => Promise.resolve() } };
    await asOwner(t.database, (sql) => inTransaction(sql, (tx) => notify(silent, tx, told(t.account))));
    await until(() => receiver.hanging.length === 1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    // Past the lease of the dead. It runs on: a gateway that starts proves that it hears, which takes time.
    const now = () => Date.now() + 180_000;
    const clock = { ...systemClock, now, instant: () => new Date(now()).toISOString() };
    const next = opening.use(await startGateway(t.database, { settings, clock }));
    await until(() => receiver.hanging.length === 2);
    receiver.hanging[1]?.writeHead(200).end();
    const path = `${base}/${id}/deliveries`;
    await until(async () => (await http(next.url, path, { key: t.account.key })).body.deliveries.length === 1);
    const [attempt] = (await http(next.url, path, { key: t.account.key })).body.deliveries;
    assert.deepEqual([attempt.attempt, attempt.ok], [2, true]);
    const ids = receiver.pushed.map(({ headers }) => headers['webhook-id']);
    assert.deepEqual(ids, [attempt.message_id, attempt.message_id]);
    for (const request of receiver.pushed) assert.equal(verifyWebhook(request, secret), 0);
  });
});
