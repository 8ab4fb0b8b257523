import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createAccount, openTest, startGateway, type TestGateway, until } from '../../testing.ts';
import { createBroadcast } from './broadcast.ts';
import { inTransaction } from '../db/db.ts';
import type { EventStream } from './sse.ts';
import { shared } from '../../testing.shared.ts';

/** A stream that keeps what it was sent. */
function fakeStream() {
  const sent: string[] = [];
  const handlers: (() => void)[] = [];
  let closed = false;
  const stream: EventStream = {
    offer: () => undefined,
    hasRoom: () => true,
    drained: () => Promise.resolve(),
    send: (event, data) => stream.sendText(event, JSON.stringify(data)),
    sendText(event, json) {
      sent.push(`${event} ${json}`);
      return true;
    },
    onClose: (handler) => void handlers.push(handler),
    end() {
      closed = true;
      for (const handler of handlers) handler();
    },
    destroy: () => stream.end(),
    get closed() {
      return closed;
    },
    socketProgress: () => undefined,
  };
  return { stream, sent };
}

describe('broadcast', () => {
  const { database, gateway: a, second: b } = shared(() => openTest({ gateways: 2 }));

  const open = async (gateway: TestGateway, topic: string) => {
    const broadcast = createBroadcast<{ account: string; n: number }>(gateway.kernel, topic);
    await broadcast.start(({ account, n }) => broadcast.send(account, 'count', { n }));
    return broadcast;
  };

  test('a message reaches the streams of its account on every gateway, in order, and no stream that has ended', async () => {
    const topic = `t.${randomUUID()}`;
    const [here, there] = [await open(a, topic), await open(b, topic)];
    const { id: account } = await createAccount(a);
    const [near, far, other, ended] = [fakeStream(), fakeStream(), fakeStream(), fakeStream()];
    here.follow(account, near.stream);
    there.follow(account, far.stream);
    there.follow(randomUUID(), other.stream);
    here.follow(account, ended.stream);
    ended.stream.end();
    for (let n = 0; n < 5; n += 1) {
      await inTransaction(a.kernel.sql, (tx) => here.publish(tx, { account, n }));
    }
    const all = [0, 1, 2, 3, 4].map((n) => `count {"n":${n}}`);
    await until(() => far.sent.length === 5 && near.sent.length === 5);
    assert.deepEqual([near.sent, far.sent, other.sent, ended.sent], [all, all, [], []]);
    assert.equal(here.isFollowed(account), true);
    near.stream.end();
    assert.equal(here.isFollowed(account), false);
  });

  test('streams end when another gateway died, as a message of it may be missing, and not when it left', async () => {
    const topic = `t.${randomUUID()}`;
    const here = await open(a, topic);
    const { sql } = a.kernel;
    await using left = await startGateway(database);
    const first = fakeStream();
    here.follow('x', first.stream);
    await until(async () => a.kernel.gateways.hasPeers());
    await left.close();
    // A gateway that was killed keeps its row until its lease runs out.
    const dead = randomUUID();
    await sql`insert into kernel.gateways (id, lease_until) values (${dead}, now() + interval '10 seconds')`;
    assert.equal(first.stream.closed, false);
    await until(() => first.stream.closed, 30_000);
    const second = fakeStream();
    here.follow('x', second.stream);
    await sql`update kernel.gateways set lease_until = now() - interval '30 seconds' where id = ${dead}`;
    const looked = await sql`select lease_until from kernel.gateways where id = ${a.kernel.gateways.id}`;
    await until(async () => {
      const [row] = await sql`select lease_until from kernel.gateways where id = ${a.kernel.gateways.id}`;
      return row?.['lease_until'] !== looked[0]?.['lease_until'];
    }, 30_000);
    assert.equal(second.stream.closed, false, 'one death is told once');
  });

  test('a stream that was opened after a gateway had died misses none of its messages, and goes on', async () => {
    const topic = `t.${randomUUID()}`;
    const here = await open(a, topic);
    const { sql } = a.kernel;
    // Its last renewal was 8 s ago: it has been dead for at least 5.
    const dead = randomUUID();
    await sql`insert into kernel.gateways (id, lease_until) values (${dead}, now() + interval '2 seconds')`;
    const opened = fakeStream();
    here.follow('x', opened.stream);
    const lease = async () =>
      (await sql`select lease_until from kernel.gateways where id = ${a.kernel.gateways.id}`)[0]?.['lease_until'];
    await until(
      async () => (await sql`select 1 from kernel.gateways where id = ${dead} and lease_until < now()`).length > 0,
    );
    for (let renewals = 0; renewals < 2; renewals += 1) {
      const before = await lease();
      await until(async () => (await lease()) !== before);
    }
    assert.equal(opened.stream.closed, false);
  });
});
