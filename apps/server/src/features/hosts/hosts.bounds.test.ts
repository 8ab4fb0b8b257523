import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { clientOf, openTest, until } from '../../testing.ts';

const mib = 1024 * 1024;

describe('hosts: what a host that does not read may cost', () => {
  const { gateway, account } = shared(() => openTest());

  test('16 MiB of operations are on their way to it, further ones are a 429, and cancelled ones never reach it', async (t) => {
    const deviceId = randomUUID();
    const socket = connect(Number(new URL(gateway.url).port));
    t.after(() => socket.destroy());
    let text = '';
    // It reads until its first operation begins: which of three large ones that is, their bodies decide.
    let begun: string | undefined;
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (begun !== undefined) return;
      begun = /"name":"(\w+)"/.exec(text)?.[1];
      if (begun !== undefined) socket.pause();
    });
    socket.write(
      `GET /v1/hosts/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\nx-svc-device: ${deviceId}\r\n\r\n`,
    );
    await until(() => text.includes('event: ready'));
    const client = clientOf(gateway, account.key);
    /** Answers once the call was refused or is on its way, which the gateway's held bytes tell. */
    const call = (name: string, bytes: number) => {
      const abort = new AbortController();
      const body = { op: 'info', args: { name, pad: 'x'.repeat(bytes) } };
      const code = client.hosts.exec({ params: { device_id: deviceId }, body }, { signal: abort.signal }).then(
        () => 'answered',
        (error: { code?: string }) => error.code ?? 'aborted',
      );
      return { abort, code };
    };
    const held = () => gateway.app.http.bodies.heldBytes();
    const waiting: ({ name: string } & ReturnType<typeof call>)[] = [];
    for (const name of ['first', 'second', 'third']) {
      const before = held();
      waiting.push({ name, ...call(name, 5 * mib) });
      await until(() => held() >= before + 5 * mib);
    }
    // The three are on their way once a fourth is refused.
    await until(async () => (await call('fourth', 5 * mib).code) === 'rate_limit_exceeded');
    await until(() => begun !== undefined);
    for (const { name, abort } of waiting) if (name !== begun) abort.abort();
    await until(() => held() < 6 * mib);
    const last = call('last', 4 * mib);
    await until(() => held() > 8 * mib);
    socket.resume();
    await until(() => text.includes('"name":"last"'));
    assert.deepEqual(
      [...text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name),
      [begun, 'last'],
    );
    assert.doesNotMatch(text, /exec_cancel/);
    for (const { abort } of [...waiting, last]) abort.abort();
    await Promise.all([...waiting, last].map(({ code }) => code));
    await until(() => held() === 0);
  });
});
