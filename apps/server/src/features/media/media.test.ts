import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock, testClock } from '../../kernel/base/clock.ts';
import { createLog } from '../../kernel/base/log.ts';
import { createMetrics } from '../../kernel/base/metrics.ts';
import { cageWords, chains } from './media.cage.ts';
import { type MediaFault, MediaFiles, MediaRefused } from './index.ts';
import {
  bursts,
  burstsIn,
  burstsInEach,
  descendants,
  ffmpeg,
  makeBursts,
  wavHeader,
  withReference,
} from './media.testing.ts';

const never = new AbortController().signal;
/** Of every recording: ffmpeg took four fifths of this file's processor time when it was twice as long. */
const lengthMs = 66_000;
let folder = '';
let media: MediaFiles;
let count = 0;

const openMedia = (options: Partial<ConstructorParameters<typeof MediaFiles>[0]> = {}): MediaFiles => {
  const dataDir = join(folder, `data-${(count += 1)}`);
  return new MediaFiles({ dataDir, scratchBytes: 2 ** 33, clock: systemClock, log: createLog('silent'), ...options });
};
const made = (name: string, bytes: string | Uint8Array): string => {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  return file;
};
const encoded = (name: string, ...args: string[]): string => {
  const file = join(folder, name);
  ffmpeg('-i', join(folder, 'bursts.wav'), ...args, file);
  return file;
};
const refused = (reason: MediaFault) => (error: unknown) => {
  assert.ok(error instanceof MediaRefused, String(error));
  assert.equal(error.reason, reason);
  assert.ok(!error.message.includes(folder));
  return true;
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-media-'));
  makeBursts(folder, lengthMs / 1_000);
  // All by one program: a start of ffmpeg is a quarter of a second of processor time.
  const outputs = Object.entries(kinds).flatMap(([name, { args }]) => [...args, join(folder, name)]);
  ffmpeg('-i', join(folder, 'bursts.wav'), ...outputs);
  media = openMedia();
});
after(async () => {
  media.stop();
  assert.equal(descendants().length, 0, 'a program is left');
  await rm(folder, { recursive: true });
});

/** Recordings of the bursts in every container, with the options that make them. */
const kinds: Record<string, { args: string[]; format: string; codec: string; contentType: string }> = {
  'a.wav': { args: [], format: 'wav', codec: 'pcm_s16le', contentType: 'audio/wav' },
  'a.w64': { args: [], format: 'w64', codec: 'pcm_s16le', contentType: 'audio/x-w64' },
  'a.aiff': { args: [], format: 'aiff', codec: 'pcm_s16be', contentType: 'audio/aiff' },
  'a.caf': { args: [], format: 'caf', codec: 'pcm_s16be', contentType: 'audio/x-caf' },
  'a.flac': { args: [], format: 'flac', codec: 'flac', contentType: 'audio/flac' },
  'vbr.mp3': { args: ['-q:a', '4'], format: 'mp3', codec: 'mp3', contentType: 'audio/mpeg' },
  'cbr.mp3': { args: ['-b:a', '64k'], format: 'mp3', codec: 'mp3', contentType: 'audio/mpeg' },
  'a.m4a': { args: ['-c:a', 'aac'], format: 'mp4', codec: 'aac', contentType: 'audio/mp4' },
  'alac.m4a': { args: ['-c:a', 'alac'], format: 'mp4', codec: 'alac', contentType: 'audio/mp4' },
  'a.aac': { args: ['-c:a', 'aac'], format: 'aac', codec: 'aac', contentType: 'audio/aac' },
  'opus.ogg': { args: ['-c:a', 'libopus'], format: 'ogg', codec: 'opus', contentType: 'audio/ogg' },
  'vorbis.ogg': { args: ['-c:a', 'libvorbis'], format: 'ogg', codec: 'vorbis', contentType: 'audio/ogg' },
  'a.webm': { args: ['-c:a', 'libopus'], format: 'webm', codec: 'opus', contentType: 'audio/webm' },
  'live.webm': {
    args: ['-c:a', 'libopus', '-live', '1'],
    format: 'webm',
    codec: 'opus',
    contentType: 'audio/webm',
  },
  'a.mka': { args: ['-c:a', 'flac'], format: 'matroska', codec: 'flac', contentType: 'audio/x-matroska' },
};

describe('recordings of every kind', () => {
  for (const [name, { format, codec, contentType }] of Object.entries(kinds)) {
    test(`${name}: its kind and length are told without decoding, its parts begin where they are asked to`, async () => {
      const file = join(folder, name);
      const { durationMs, ...found } = await media.probe(file, never);
      const sampleRate = codec === 'opus' ? 48_000 : 44_100;
      assert.deepEqual(found, { format, codec, contentType, channels: 2, sampleRate });
      assert.ok(Math.abs(durationMs - lengthMs) < 110, `${durationMs} ms`);
      // AAC without a container says nothing of the samples that its encoder put before the first.
      const delay = name === 'a.aac' ? 1_024 / 44.1 : 0;
      await using scratch = await media.scratch();
      const spans = [
        [0, 20_000],
        [3_137, 10_000],
        [29_001, 44_003],
        [51_130, 65_000],
      ] as const;
      const parts: string[] = [];
      for (const [fromMs, toMs] of spans) {
        const part = await media.part(file, fromMs, toMs, scratch, never);
        assert.equal(part.contentType, 'audio/flac');
        assert.equal(part.bytes, statSync(part.file).size);
        parts.push(part.file);
      }
      const heard = burstsInEach(parts);
      for (const [n, [fromMs, toMs]] of spans.entries()) {
        const begun = (heard[n] ?? []).map((at) => at + fromMs - delay);
        const wanted: number[] = [];
        for (let at = bursts.firstMs; at < toMs - 50; at += bursts.everyMs) if (at >= fromMs) wanted.push(at);
        // One that begins right at the edge may have lost its first samples to it.
        assert.equal(begun.length, wanted.length, `${fromMs}: ${begun.join()} for ${wanted.join()}`);
        for (const [i, at] of wanted.entries()) {
          assert.ok(Math.abs((begun[i] ?? 0) - at) < 20, `${fromMs}: ${begun[i]} for ${at}`);
        }
      }
    });
  }

  test('MP3 without an index is cut where the same times are in the whole', async () => {
    for (const args of [
      ['-q:a', '4'],
      ['-b:a', '64k'],
    ]) {
      const file = encoded('plain.mp3', ...args, '-write_xing', '0');
      const whole = burstsIn(file);
      await using scratch = await media.scratch();
      const part = await media.part(file, 40_000, 65_000, scratch, never);
      const wanted = whole.filter((at) => at >= 40_000 && at < 65_000);
      const begun = burstsIn(part.file).map((at) => at + 40_000);
      assert.equal(begun.length, wanted.length);
      for (const [i, at] of wanted.entries()) assert.ok(Math.abs((begun[i] ?? 0) - at) < 20, `${begun[i]} for ${at}`);
    }
  });

  test('silences lie between the sounds, in order, up to the end', async () => {
    const { durationMs, silences } = await media.hear(encoded('s.ogg', '-c:a', 'libopus'), never);
    assert.ok(Math.abs(durationMs - lengthMs) < 60);
    assert.equal(silences.length, 10);
    assert.equal(silences[0]?.startMs, 0);
    for (const [i, { startMs, endMs }] of silences.entries()) {
      const burst = bursts.firstMs + i * bursts.everyMs;
      if (i > 0) assert.ok(Math.abs(startMs - (burst - bursts.everyMs + bursts.lengthMs)) < 40, `${startMs}`);
      assert.ok(Math.abs(endMs - Math.min(burst, durationMs)) < 40, `${endMs} for ${burst}`);
    }
  });

  test('a video is taken for its sound, which begins when it does in the video', async () => {
    const file = join(folder, 'v.mp4');
    const picture = ['-f', 'lavfi', '-i', `testsrc=d=${lengthMs / 1_000}:r=5:s=160x120`, '-itsoffset', '0.5'];
    ffmpeg(
      ...picture,
      '-i',
      join(folder, 'bursts.wav'),
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-c:a',
      'aac',
      file,
    );
    const { contentType, codec, durationMs } = await media.probe(file, never);
    assert.deepEqual([contentType, codec], ['video/mp4', 'aac']);
    assert.ok(Math.abs(durationMs - lengthMs - 500) < 110);
    await using scratch = await media.scratch();
    const [first = 0] = burstsIn((await media.part(file, 17_000, 30_000, scratch, never)).file);
    assert.ok(Math.abs(first + 17_000 - 500 - (bursts.firstMs + 2 * bursts.everyMs)) < 20, `${first}`);
  });

  test('a cover picture makes no video of a song', async () => {
    const file = join(folder, 'cover.mp3');
    const cover = join(folder, 'cover.png');
    ffmpeg('-f', 'lavfi', '-i', 'color=red:s=64x64', '-frames:v', '1', cover);
    ffmpeg('-i', join(folder, 'bursts.wav'), '-i', cover, '-map', '0', '-map', '1', '-c:v', 'copy', file);
    assert.equal((await media.probe(file, never)).contentType, 'audio/mpeg');
  });

  test('a part of noise that is too large as FLAC goes as Opus, without metadata of the file', async () => {
    const file = join(folder, 'noise.flac');
    const noise = 'anoisesrc=d=780:c=white:r=16000:a=0.9';
    ffmpeg('-f', 'lavfi', '-i', noise, '-metadata', 'title=secret title', '-metadata', 'artist=secret name', file);
    await using scratch = await media.scratch();
    const part = await media.part(file, 0, 780_000, scratch, never);
    assert.equal(part.contentType, 'audio/ogg');
    assert.ok(part.bytes < 6_000_000 && part.bytes > 1_000_000, `${part.bytes}`);
    assert.equal(readdirSync(scratch.dir).length, 1);
    const short = await media.part(file, 0, 1_000, scratch, never);
    for (const { file: sent } of [part, short])
      assert.doesNotMatch(readFileSync(sent).toString('latin1'), /secret|Lavf5/);
  });

  test('clips of several files are joined in the order asked for, each where those before it end', async () => {
    const wav = join(folder, 'bursts.wav');
    const mp3 = encoded('clips.mp3', '-b:a', '64k');
    const ogg = encoded('clips.ogg', '-c:a', 'libopus');
    // Each has its burst 1 s after its start, and one lies past the end of its file.
    const turns = [6, 0, 5, 5, 8, 3, 7, 1, 4, 2, 8, 6, 7, 4].map((turn, n) => ({
      source: [wav, wav, mp3, ogg][n % 4] as string,
      startMs: bursts.firstMs + turn * bursts.everyMs - 1_000,
      endMs: bursts.firstMs + turn * bursts.everyMs + 2_000,
    }));
    const parts = [
      ...turns.slice(0, 3),
      { source: wav, startMs: 200_000, endMs: 203_000 },
      ...turns.slice(3),
      ...Array.from({ length: 20 }, () => turns[0] as (typeof turns)[0]),
    ];
    await using scratch = await media.scratch();
    const { file, contentType, bytes } = await media.clips(parts, 700, scratch, never);
    assert.deepEqual([contentType, bytes], ['audio/flac', statSync(file).size]);
    assert.deepEqual(readdirSync(scratch.dir), [basename(file)]);
    assert.equal(ffmpeg('-i', file, '-f', 's16le', '-').length, parts.length * 3_700 * 32);
    const begun = burstsIn(file);
    const wanted = parts.flatMap((_, n) => (n === 3 ? [] : [n * 3_700 + 1_000]));
    assert.equal(begun.length, wanted.length);
    for (const [n, at] of wanted.entries()) assert.ok(Math.abs((begun[n] ?? 0) - at) < 20, `${begun[n]} for ${at}`);
  });

  test('clips that are none, or too long together, are refused before a program starts, and nothing is left of damaged ones', async () => {
    await using scratch = await media.scratch();
    const file = join(folder, 'bursts.wav');
    const clip = { source: file, startMs: 0, endMs: 60_000 };
    for (const [parts, gapMs] of [
      [[], 500],
      [[{ ...clip, endMs: 0 }], 500],
      [[{ ...clip, startMs: -1 }], 500],
      [[{ ...clip, endMs: 60_001 }], 500],
      [[{ ...clip, endMs: Number.NaN }], 500],
      [[clip], -1],
      [Array.from({ length: 15 }, () => clip), 1],
      [Array.from({ length: 1_001 }, () => ({ ...clip, endMs: 1 })), 0],
    ] as const) {
      await assert.rejects(media.clips(parts, gapMs, scratch, never), RangeError);
    }
    const damaged = made('clips-damaged.mp3', Buffer.alloc(100_000, 7));
    const both = [
      { ...clip, endMs: 1_000 },
      { source: damaged, startMs: 0, endMs: 1_000 },
    ];
    await assert.rejects(media.clips(both, 500, scratch, never), refused('damaged'));
    assert.deepEqual(readdirSync(scratch.dir), []);
  });

  test('a part that is none is refused before a program starts', async () => {
    await using scratch = await media.scratch();
    for (const [from, to] of [
      [0, 0],
      [-1, 5],
      [5, 1],
      [0, 1_800_001],
      [0.5, 3],
      [0, Number.NaN],
    ] as const) {
      await assert.rejects(media.part(join(folder, 'a.wav'), from, to, scratch, never), RangeError);
    }
  });
});

describe('files that lie', () => {
  test('no file makes the programs read another file or open a connection', async (t) => {
    let connections = 0;
    const server = createServer((_, response) => response.end('x')).on('connection', () => (connections += 1));
    t.after(() => server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    // Bursts in a file beside the stranger's: who reads it has sound to answer.
    const canary = join(folder, 'bursts.wav');
    copyFileSync(canary, join(folder, 'segment.ts'));
    const files: Record<string, string | Uint8Array> = {
      'hls.wav': `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n${url}/a.ts\n#EXT-X-ENDLIST\n`,
      'hls-file.wav': `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile://${canary}\n#EXT-X-ENDLIST\n`,
      'hls-beside.mp3': '#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nsegment.ts\n#EXT-X-ENDLIST\n',
      'passwd.wav': '#EXTM3U\n#EXTINF:1,\n/etc/passwd\n',
      'concat.wav': `ffconcat version 1.0\nfile '${canary}'\n`,
      'concat-url.wav': `ffconcat version 1.0\nfile '${url}/a.wav'\n`,
      'sdp.wav': 'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n',
      'url.wav': `${url}/a.wav`,
      'pls.mp3': `[playlist]\nFile1=${url}/a.mp3\nNumberOfEntries=1\n`,
      'dash.mp4': `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet mimeType="audio/mp4"><Representation id="1" bandwidth="1"><BaseURL>${url}/a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>`,
      'svg.wav': `<svg xmlns="http://www.w3.org/2000/svg"><image href="${url}/x.png"/></svg>`,
      'text.wav': 'Hello, I am a letter.\n'.repeat(200),
    };
    const bare = openMedia({ chains: chains.filter(({ kind }) => kind === 'none') });
    assert.equal((await bare.ready()).cage, 'none');
    const both = Object.entries(files).flatMap(([name, content]) => [media, bare].map((by) => ({ name, content, by })));
    for (const { name, content, by } of both) {
      const file = made(`lie-${name}`, content);
      await assert.rejects(by.probe(file, never), refused('not_audio'), name);
      await assert.rejects(by.hear(file, never), refused('not_audio'), name);
      await using scratch = await by.scratch();
      await assert.rejects(by.part(file, 0, 1_000, scratch, never), refused('damaged'), name);
      assert.deepEqual(readdirSync(scratch.dir), []);
    }
    const silent = join(folder, 'silent.mov');
    ffmpeg('-f', 'lavfi', '-i', 'anullsrc=r=44100:cl=stereo', '-t', '20', '-c:a', 'pcm_s16le', silent);
    const outside = made('lie-reference.mov', withReference(silent, canary));
    assert.ok(
      burstsIn(outside, '-enable_drefs', '1', '-use_absolute_path', '1').length > 0,
      'it leads to another file',
    );
    await assert.rejects(media.hear(outside, never), refused('damaged'));
    await using cut = await media.scratch();
    await assert.rejects(media.part(outside, 0, 20_000, cut, never), refused('damaged'));
    assert.equal(connections, 0);
  });

  test('a Matroska file that names its next segment is that file alone', async () => {
    const file = join(folder, 'linked.mka');
    ffmpeg('-t', '5', '-i', join(folder, 'bursts.wav'), '-c:a', 'flac', file);
    // In the place of the muxer's name: NextFilename.
    const bytes = readFileSync(file);
    const at = bytes.indexOf(Buffer.from([0x4d, 0x80]));
    assert.ok(at > 0);
    Buffer.from([0x3e, 0x83, 0xbb]).copy(bytes, at);
    const { durationMs } = await media.probe(made('linked.mka', bytes), never).catch((error: unknown) => {
      refused('damaged')(error);
      return { durationMs: 5_000 };
    });
    assert.ok(durationMs <= 5_100);
  });

  test('a file that says one second and holds 40 hours is too long, and is not read to its end', async () => {
    const file = join(folder, 'forty.wav');
    const handle = openSync(file, 'w');
    const bytes = 40 * 3_600 * 16_000;
    writeSync(handle, wavHeader(bytes));
    ftruncateSync(handle, 44 + bytes);
    closeSync(handle);
    await assert.rejects(media.probe(file, never), refused('too_long'));
    // Its table says one second; its packets say more.
    const m4a = join(folder, 'long.m4a');
    const short = join(folder, 'short.m4a');
    ffmpeg('-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '110', '-c:a', 'aac', '-b:a', '8k', short);
    ffmpeg('-stream_loop', '100', '-i', short, '-c', 'copy', m4a);
    const head = readFileSync(m4a);
    for (const atom of ['mvhd', 'mdhd', 'tkhd']) {
      const at = head.indexOf(atom);
      head.writeUInt32BE(1_000, at + (atom === 'tkhd' ? 24 : 20));
    }
    await assert.rejects(media.probe(made('says-one.m4a', head), never), refused('too_long'));
  });

  test('three hours are taken, and a second more is not', async () => {
    for (const [seconds, isTaken] of [
      [10_800, true],
      [10_802, false],
    ] as const) {
      const file = join(folder, 'three.wav');
      const handle = openSync(file, 'w');
      writeSync(handle, wavHeader(seconds * 16_000));
      ftruncateSync(handle, 44 + seconds * 16_000);
      closeSync(handle);
      if (isTaken) assert.equal((await media.probe(file, never)).durationMs, 10_800_000);
      else await assert.rejects(media.probe(file, never), refused('too_long'));
    }
  });

  test('where the system refuses a lower priority recordings are read without it, and it is no fault of theirs', async () => {
    const refusing = 'echo "nice: cannot set niceness: Permission denied" >&2; exec "$@"';
    const plain = openMedia({ chains: [{ kind: 'none', words: ['sh', '-c', refusing, 'sh'] }] });
    const damaged = made('not-nice.mp3', Buffer.alloc(100_000, 7));
    await assert.rejects(plain.hear(damaged, never), refused('damaged'));
  });

  test('limits that the system refuses cost no cage', async () => {
    const limitless = chains.map(({ kind, words }) => ({
      kind,
      words: words.map((word) => (word === 'prlimit' ? 'false' : word)),
    }));
    assert.equal((await openMedia({ chains: limitless }).ready()).cage, (await media.ready()).cage);
  });

  test('files without sound, damaged ones, and ones with too many tracks are told apart', async () => {
    await assert.rejects(media.probe(made('empty.wav', ''), never), refused('not_audio'));
    await assert.rejects(media.probe(made('head.wav', wavHeader(0)), never), refused('damaged'));
    await assert.rejects(media.probe(made('zeros.bin', Buffer.alloc(100_000)), never), refused('not_audio'));
    const silent = join(folder, 'silent.mp4');
    ffmpeg('-f', 'lavfi', '-i', 'testsrc=d=1:r=5:s=64x64', silent);
    await assert.rejects(media.probe(silent, never), refused('not_audio'));
    const m4a = encoded('cut.m4a', '-c:a', 'aac');
    truncateSync(m4a, 200_000);
    await assert.rejects(media.probe(m4a, never), refused('damaged'));
    const wma = encoded('a.mka', '-c:a', 'wavpack');
    await assert.rejects(media.probe(wma, never), refused('unsupported'));
    for (const tracks of [17, 200]) {
      const file = join(folder, `${tracks}.mka`);
      const maps = Array.from({ length: tracks }, () => ['-map', '0:a']).flat();
      ffmpeg('-t', '1', '-i', join(folder, 'bursts.wav'), ...maps, '-c:a', 'pcm_s16le', file);
      await assert.rejects(media.probe(file, never), refused('too_many_tracks'));
    }
  });

  test('a recording whose end is missing is taken as far as it goes', async () => {
    const file = encoded('faststart.m4a', '-c:a', 'aac', '-movflags', '+faststart');
    truncateSync(file, Math.round(statSync(file).size / 2));
    const { durationMs } = await media.probe(file, never);
    assert.ok(durationMs > 30_000 && durationMs < 100_000, `${durationMs}`);
    const decoded = await media.hear(file, never);
    assert.ok(Math.abs(decoded.durationMs - durationMs) < 200);
  });

  test('a file that unpacks to more samples than three hours of music have is not decoded', async () => {
    const file = join(folder, 'bomb.flac');
    ffmpeg('-f', 'lavfi', '-i', 'anullsrc=r=384000:cl=7.1', '-t', '20', '-c:a', 'flac', file);
    assert.ok(statSync(file).size < 500_000);
    await assert.rejects(media.probe(file, never), refused('unsupported'));
  });

  test('a name with signs of a shell, an option or a protocol is a name', async () => {
    for (const name of ['-i.wav', 'a b;$(touch x).wav', 'http:x.wav', "it's.wav", 'ș\n.wav']) {
      const file = join(folder, name);
      copyFileSync(join(folder, 'bursts.wav'), file);
      assert.equal((await media.probe(file, never)).durationMs, lengthMs);
    }
  });
});

describe('programs', () => {
  test('the machine has a version and a cage, and what runs is counted', async () => {
    const metrics = createMetrics();
    const own = openMedia({ metrics });
    const { ffmpeg: version, cage } = await own.ready();
    assert.match(version ?? '', /^\d/);
    assert.ok(cage === 'bwrap' || cage === 'none');
    assert.match(await metrics.registry.metrics(), /svc_media_processes 0/);
  });

  test('in the cage there are the programs of the machine, the one file, and nothing else of it', async () => {
    if ((await media.ready()).cage === 'none') return;
    const see = (...command: string[]): string =>
      execFileSync(
        '/usr/bin/env',
        [...(chains[0]?.words ?? []), ...cageWords({ input: join(folder, 'bursts.wav') }), ...command],
        {
          encoding: 'utf8',
        },
      );
    const there = see('/usr/bin/find', '/', '-maxdepth', '1', '-mindepth', '1').trim().split('\n').sort();
    assert.deepEqual(
      there.filter((path) => !['/bin', '/lib', '/lib64', '/etc'].includes(path)),
      ['/dev', '/input', '/usr'],
    );
    assert.equal(see('/usr/bin/find', '/etc', '-maxdepth', '1', '-type', 'f').trim(), '/etc/ld.so.cache');
    assert.throws(() => see('/usr/bin/touch', '/usr/x', '/input', '/x'));
    const env = see('/usr/bin/env').trim().split('\n').sort();
    assert.deepEqual(
      env.map((line) => line.split('=')[0]),
      ['LANG', 'PATH', 'PWD'],
    );
  });

  test('a signal ends a pass at once with its reason, and no program is left', async () => {
    const file = join(folder, 'slow.wav');
    const handle = openSync(file, 'w');
    writeSync(handle, wavHeader(10_000 * 16_000));
    ftruncateSync(handle, 44 + 10_000 * 16_000);
    closeSync(handle);
    const before = descendants();
    const own = openMedia();
    await own.ready();
    const ending = new AbortController();
    const reason = new Error('nobody wants it');
    const pass = own.hear(file, ending.signal);
    while (descendants().length === before.length) await new Promise((resolve) => setImmediate(resolve));
    ending.abort(reason);
    await assert.rejects(pass, reason);
    assert.deepEqual(descendants(), before);
    await assert.rejects(own.hear(file, AbortSignal.abort(reason)), reason);
    const stopped = own.hear(file, never);
    own.stop();
    await assert.rejects(stopped, /the platform stops/);
    await assert.rejects(own.probe(file, never), /the platform stops/);
    assert.deepEqual(descendants(), before);
  });

  test('a file that takes too long to look at is damaged; one that takes too long to decode may be tried again', async () => {
    const clock = testClock();
    const own = openMedia({ clock });
    await own.ready();
    const file = join(folder, 'slow.wav');
    const before = descendants().length;
    const decoding = own.hear(file, never);
    while (descendants().length === before) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(600_000);
    await assert.rejects(decoding, (error: Error) => error.name === 'OutOfTime' && !(error instanceof MediaRefused));
    const looking = own.probe(file, never);
    while (descendants().length === before) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(30_000);
    await assert.rejects(looking, refused('damaged'));
  });

  test('a recording that is gone is an error that names no path', async () => {
    const gone = join(folder, 'gone.wav');
    await using scratch = await media.scratch();
    for (const call of [
      () => media.probe(gone, never),
      () => media.hear(gone, never),
      () => media.part(gone, 0, 1, scratch, never),
    ]) {
      await assert.rejects(call, (error: Error) => !error.message.includes(folder) && !(error instanceof MediaRefused));
    }
  });
});

describe('scratch', () => {
  test('a folder is there until it is removed, and past the room of all there is none', async () => {
    const own = openMedia({ scratchBytes: 1_000 });
    const first = await own.scratch();
    assert.equal(statSync(first.dir).mode & 0o777, 0o700);
    writeFileSync(join(first.dir, 'a'), Buffer.alloc(999));
    const second = await own.scratch();
    writeFileSync(join(second.dir, 'b'), 'x');
    await assert.rejects(own.scratch(), { code: 'unavailable' });
    await first.remove();
    await first.remove();
    await using third = await own.scratch();
    assert.ok(third.dir !== second.dir);
  });

  test('a start removes what ended processes left, and nothing of one that runs', async () => {
    const dataDir = join(folder, 'shared');
    const own = openMedia({ dataDir });
    await own.start();
    const live = await own.scratch();
    const dead = join(dataDir, 'media', `${process.pid}.${'0'.repeat(16)}.left`);
    const odd = join(dataDir, 'media', 'odd');
    for (const left of [dead, odd]) mkdirSync(left);
    writeFileSync(join(dead, 'part'), 'x');
    await openMedia({ dataDir }).start();
    assert.deepEqual(readdirSync(join(dataDir, 'media')), [live.dir.split('/').at(-1)]);
  });
});
