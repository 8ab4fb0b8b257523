// Memory of many open SSE streams of the gateway, beside a bare node:http server that holds as many.
import { randomUUID } from 'node:crypto';
import { requestText } from './lib/client.ts';
import { startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { measureStreams, type StreamsFound } from './lib/streams.ts';

await bench('streams', { streams: 2_000, settle: 20 }, async ({ streams, settle }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  await using peer = await startPeer('sse');
  const authorization = `Bearer ${platform.key}`;
  const request = (): string => requestText('GET', '/v1/hosts/stream', { authorization, 'x-svc-device': randomUUID() });
  say(`svc: ${streams} streams, settled for ${settle} s before and after`);
  const ours = await measureStreams({ port: platform.port, pid: platform.pid, request }, streams, settle);
  say('node:http: the same');
  const theirs = await measureStreams({ port: peer.port, pid: peer.pid, request }, streams, settle);
  return {
    rows: [rowOf('svc', ours), { ...rowOf('node:http', theirs), 'svc : its': ours.each / theirs.each }],
    targets: [atMost('kB a stream', ours.each, 40)],
  };
});

function rowOf(who: string, found: StreamsFound): Row {
  return {
    who,
    'RSS MiB before': found.before / 1024,
    'with streams': found.after / 1024,
    'after closing': found.closed / 1024,
    'opened in ms': found.openMs,
    failed: found.failed,
    'kB a stream': found.each,
  };
}
