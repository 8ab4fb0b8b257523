// One stream of pieces of 8 MiB, and HEAD while a PATCH stalls: @tus/server with @tus/file-store beside ours.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atLeast, atMost, bench, type Row } from './lib/report.ts';
import { median, percentile } from './lib/stats.ts';

const mib = 1024 * 1024;
const piece = randomBytes(8 * mib);
/** Requests and files that a figure leaves out: the first ones compile the code. */
const warmUps = 4;
const agent = new Agent({ keepAlive: true });

/** A server of tus, and what was measured of it. */
interface Side {
  readonly what: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  /** One a round. */
  readonly rates: number[];
  /** Of HEAD while a PATCH stalls. */
  readonly heads: number[];
  failed: number;
}

await bench('uploads', { pieces: 32, rounds: 5, stalls: 20 }, async ({ pieces, rounds, stalls }, say) => {
  using dataDir = temporaryDataDir();
  const folder = join(dataDir.path, 'peer');
  mkdirSync(folder);
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  await using peer = await startPeer('tus', folder);
  const ours = sideOf('svc, synced', platform.port, { authorization: `Bearer ${platform.key}` });
  const theirs = sideOf('@tus/server, not synced', peer.port, {});
  const disk: number[] = [];
  for (const side of [ours, theirs]) await streamOf(side, warmUps);
  for (let round = 1; round <= rounds; round++) {
    say(`round ${round} of ${rounds}: ${pieces} pieces of 8 MiB to each, and bare to the disk`);
    const sides = round % 2 ? [ours, theirs] : [theirs, ours];
    for (const side of sides) side.rates.push(await streamOf(side, pieces));
    disk.push(await bareDisk(folder, pieces));
  }
  for (const side of [ours, theirs]) {
    say(`${side.what}: HEAD while a PATCH stalls, ${stalls} times`);
    await headOfStalled(side);
    side.heads.length = 0;
    for (let n = 0; n < stalls; n += 1) await headOfStalled(side);
  }
  const bare = median(disk);
  return {
    rows: [
      rowOf(ours, theirs, bare),
      rowOf(theirs, theirs, bare),
      { what: 'files of 8 MiB, synced', 'MiB/s': Math.round(bare), 'of bare disk': 1 },
    ],
    targets: [
      atLeast('one stream, MiB/s', Math.round(median(ours.rates)), 150),
      atMost('HEAD while a PATCH stalls, p99 ms', percentile(ours.heads, 0.99), 20),
      atMost('requests that failed', ours.failed, 0),
    ],
  };
});

function sideOf(what: string, port: number, headers: Readonly<Record<string, string>>): Side {
  return { what, port, headers: { 'tus-resumable': '1.0.0', ...headers }, rates: [], heads: [], failed: 0 };
}

function rowOf(side: Side, peer: Side, bare: number): Row {
  const rate = median(side.rates);
  return {
    what: side.what,
    'MiB/s': Math.round(rate),
    'of peer': median(side.rates.map((each, n) => each / (peer.rates[n] ?? Number.NaN))),
    'of bare disk': rate / bare,
    'HEAD p50 ms': median(side.heads),
    'HEAD p99 ms': percentile(side.heads, 0.99),
    failed: side.failed,
  };
}

/** Begins a request to a server on this machine. */
function begin({ port, headers }: Side, method: string, path: string, more: Record<string, string>): ClientRequest {
  return request({ agent, host: '127.0.0.1', port, method, path, headers: { ...headers, ...more } });
}

/** Sends the rest of a request and reads its answer; one that is not as asked counts as failed. */
async function end(side: Side, sent: ClientRequest, wanted: number, body?: Buffer): Promise<IncomingMessage> {
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  if (answer.statusCode !== wanted) side.failed += 1;
  return answer;
}

async function create(side: Side, length: number): Promise<string> {
  const answer = await end(side, begin(side, 'POST', '/v1/uploads', { 'upload-length': `${length}` }), 201);
  return new URL(answer.headers.location ?? '', `http://127.0.0.1:${side.port}`).pathname;
}

function ofPiece(at: number): Record<string, string> {
  return {
    'content-type': 'application/offset+octet-stream',
    'content-length': `${piece.length}`,
    'upload-offset': `${at}`,
  };
}

/** MiB a second of one upload, piece after piece; it is deleted afterwards. */
async function streamOf(side: Side, pieces: number): Promise<number> {
  const path = await create(side, pieces * piece.length);
  const began = performance.now();
  for (let n = 0; n < pieces; n += 1)
    await end(side, begin(side, 'PATCH', path, ofPiece(n * piece.length)), 204, piece);
  const seconds = (performance.now() - began) / 1000;
  await end(side, begin(side, 'DELETE', path, {}), 204);
  return (pieces * piece.length) / mib / seconds;
}

/** One HEAD of an upload of which a PATCH has sent its half and no more. */
async function headOfStalled(side: Side): Promise<void> {
  const path = await create(side, piece.length);
  const stalled = begin(side, 'PATCH', path, ofPiece(0));
  // The server may end it: that is its answer to HEAD.
  stalled.on('error', () => {});
  stalled.on('response', (answer) => answer.resume());
  await new Promise((written) => stalled.write(piece.subarray(0, piece.length / 2), written));
  const began = performance.now();
  await end(side, begin(side, 'HEAD', path, {}), 200);
  side.heads.push(performance.now() - began);
  stalled.destroy();
  await end(side, begin(side, 'DELETE', path, {}), 204);
}

/** MiB a second of files of the same size that are written and synced one after the other. */
async function bareDisk(folder: string, pieces: number): Promise<number> {
  const began = performance.now();
  for (let n = 0; n < pieces; n += 1) {
    const handle = await open(join(folder, `bare-${n}`), 'w');
    await handle.writeFile(piece);
    await handle.sync();
    await handle.close();
  }
  const seconds = (performance.now() - began) / 1000;
  for (let n = 0; n < pieces; n += 1) await rm(join(folder, `bare-${n}`));
  return (pieces * piece.length) / mib / seconds;
}
