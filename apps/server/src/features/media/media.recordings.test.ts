import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../kernel/base/clock.ts';
import { createLog } from '../../kernel/base/log.ts';
import { levelArgs, partArgs, silenceArgs, spansArgs, tracksArgs } from './media.args.ts';
import { spansOf } from './media.clips.ts';
import { type TrackChoice, channelOf, levelMs, tracksHeard } from './media.hearing.ts';
import { MediaFiles, MediaRefused } from './index.ts';
import { beginningsOf, mostPieces } from './media.pieces.ts';
import { makeRecording, type Recipe, recipes, tonesIn } from './media.recordings.testing.ts';
import { wavHead } from './media.rules.ts';
import { channelsOf, effectsOf, listingOf } from './media.tracks.ts';

const never = new AbortController().signal;
let folder = '';
let media: MediaFiles;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-recordings-'));
  const dataDir = join(folder, 'data');
  media = new MediaFiles({ dataDir, scratchBytes: 2 ** 33, clock: systemClock, log: createLog('silent') });
});
after(() => {
  media.stop();
  rmSync(folder, { recursive: true });
});

/** What comes of a recording: through the same calls as an upload takes. */
async function outcomeOf(recipe: Recipe, n: number) {
  const own = join(folder, String(n));
  mkdirSync(own);
  const { files } = await media.pieces(makeRecording(recipe, own));
  const { durationMs: packetsMs } = await media.probe(files, never);
  const { durationMs, hearing, lacks, silences } = await media.hear(files, never);
  await using scratch = await media.scratch();
  const { file } = await media.part({ files, hearing }, 0, durationMs, scratch, never);
  const [first] = silences;
  const silentMs = first?.startMs === 0 ? first.endMs : 0;
  return { hears: tonesIn(file), degraded: lacks, durationMs, packetsMs, silentMs };
}

test('an AMR of a phone is heard, with the pauses in which it sends nothing', async () => {
  const [speech, nothing] = [Buffer.alloc(32), Buffer.from([0x7c])];
  speech[0] = 0x3c;
  const frames = Array.from({ length: 150 }, (_, at) => (at >= 50 && at < 100 ? nothing : speech));
  const own = join(folder, 'phone.amr');
  writeFileSync(own, Buffer.concat([Buffer.from('#!AMR\n'), ...frames]));
  const { files } = await media.pieces(own);
  const { durationMs, lacks } = await media.hear(files, never);
  assert.deepEqual([Math.round(durationMs / 100), lacks], [30, []]);
});

/** Each run makes one of each kind: ffmpeg takes a fifth of a second to start, and each recording takes seven of it. */
const isAll = process.env['SVC_TEST_RECORDINGS'] === 'all';

describe('the labelled set of recordings: all sound is heard, once and in order, or is named', () => {
  for (const [n, recipe] of recipes.entries()) {
    if (!isAll && recipe.isKind === undefined) continue;
    test(recipe.name, async () => {
      const { hears, ms = 0, slackMs, degraded = [], refused } = recipe;
      if (refused !== undefined) {
        await assert.rejects(outcomeOf(recipe, n), (error: unknown) => {
          assert.ok(error instanceof MediaRefused, String(error));
          assert.equal(error.reason, refused);
          return true;
        });
        return;
      }
      const found = await outcomeOf(recipe, n);
      assert.deepEqual([found.hears, found.degraded], [hears, degraded]);
      if (recipe.silentMs !== undefined) {
        assert.ok(Math.abs(found.silentMs - recipe.silentMs) <= 60, `silent for ${found.silentMs} ms`);
      }
      assert.ok(Math.abs(found.durationMs - ms) <= (slackMs ?? 60), `${found.durationMs} ms`);
      // By packets: the last one may hold some silence of its encoder.
      assert.ok(Math.abs(found.packetsMs - ms) <= (slackMs ?? 140), `${found.packetsMs} ms by packets`);
    });
  }
});

test('a part of an Ogg whose clock jumps, or goes back, is where the whole has it', async () => {
  const concat = '{440:14} {660:3} -filter_complex [0][1]concat=v=0:a=1 -c:a libopus -page_duration 200000 a.ogg';
  for (const [n, by, at] of [
    [0, 15, 29],
    [1, -13, 14],
  ] as const) {
    const own = join(folder, `jump-${n}`);
    mkdirSync(own);
    const files = [makeRecording({ name: '', make: [concat], jump: [14.05, by] }, own)];
    const { durationMs, hearing, lacks } = await media.hear(files, never);
    assert.ok(Math.abs(durationMs - (at + 3) * 1_000) < 300, `${durationMs} ms`);
    assert.deepEqual(lacks, []);
    await using scratch = await media.scratch();
    const heardIn = async (from: number, to: number): Promise<string> =>
      tonesIn((await media.part({ files, hearing }, from * 1_000, to * 1_000, scratch, never)).file);
    assert.deepEqual([await heardIn(12, 14), await heardIn(at + 1, at + 3)], ['440', '660']);
    if (by > 0) assert.equal(await heardIn(20, 28), '');
  }
});

describe('which channel is heard', () => {
  const quiet = -70;
  for (const [what, levels, channel, isPart] of [
    [
      'the sum, where it has what each channel has',
      {
        sum: [-20, -23],
        channels: [
          [-20, -20],
          [-20, quiet],
        ],
      },
      undefined,
      false,
    ],
    [
      'the one that has all, where channels cancel',
      {
        sum: [-90, -90],
        channels: [
          [-26, -26],
          [-20, -20],
        ],
      },
      0,
      false,
    ],
    [
      'one, where they cancel for a while only',
      {
        sum: [-20, -90],
        channels: [
          [-20, -20],
          [-20, -20],
        ],
      },
      0,
      false,
    ],
    ['the sum of what is silent', { sum: [-90], channels: [[-70], [-80]] }, undefined, false],
  ] as const)
    test(what, () =>
      assert.deepEqual(channelOf({ ...levels, added: [] }), { ...(channel !== undefined && { channel }), isPart }),
    );
});

describe('which channels are heard of many', () => {
  const people = (count: number, frames: number): number[][] =>
    Array.from({ length: count }, (_, n) => Array.from({ length: frames }, (__, at) => (at % count === n ? -20 : -70)));
  const sum = Array.from({ length: 400 }, () => -20);
  const all = [0, 1, 2, 3];

  test('all of them, with a person at each', () => {
    assert.deepEqual(channelOf({ sum, channels: people(4, 400), added: all }), { added: all, isPart: false });
  });

  test('the sum, and in turns the one that has what it loses', () => {
    const at = (n: number) => ({ fromMs: n * levelMs, toMs: (n + 3) * levelMs });
    const lacking = sum.map((level, n) => (n === 9 || n === 30 ? -60 : level));
    const loud = people(4, 400).map((list) => list.map((level, n) => (n % 10 > 7 || n % 10 < 2 ? -20 : level)));
    assert.deepEqual(channelOf({ sum: lacking, channels: loud, added: all }), {
      added: all,
      turns: [
        { ...at(8), channel: 0 },
        { ...at(29), channel: 0 },
      ],
      isPart: false,
    });
  });

  test('the sum where no channel has more, and what it loses is named', () => {
    const loud = people(4, 400);
    const found = channelOf({ sum: sum.map((level, at) => (at < 40 ? -60 : level)), channels: loud, added: all });
    assert.deepEqual([found.added, found.isPart], [all, true]);
  });

  test('turns are 64 at most, and what is lost even so is named', () => {
    const often = Array.from({ length: 4_000 }, (_, at) => (at % 9 === 0 ? -60 : -20));
    const found = channelOf({ sum: often, channels: people(4, 4_000), added: all });
    assert.ok((found.turns ?? []).length <= 64);
    assert.equal(found.isPart, true);
  });

  test('a little that is lost is not named: two in a hundred, and half a minute at most', () => {
    // Of those who speak one after the other a turn has a quarter.
    const lostIn = (count: number, frames: number): boolean => {
      const given = { channels: people(4, frames), added: all };
      return channelOf({ ...given, sum: Array.from({ length: frames }, (_, at) => (at < count ? -60 : -20)) }).isPart;
    };
    assert.deepEqual(
      [lostIn(2, 100), lostIn(4, 100), lostIn(160, 10_000), lostIn(164, 10_000)],
      [false, true, false, true],
    );
  });

  test('one for low effects too where a person speaks there', () => {
    const channels = people(4, 400);
    const without = channels.map((_, n) => n).filter((n) => n !== 3);
    const lacking = sum.map((level, at) => (channels[3]?.[at] === -20 ? -80 : level));
    assert.deepEqual(channelOf({ sum: lacking, channels, added: without }), { added: all, isPart: false });
    assert.deepEqual(channelOf({ sum, channels, added: without }), { added: without, isPart: false });
  });
});

describe('which tracks are heard', () => {
  const track = (n: number, more: Partial<TrackChoice> = {}): TrackChoice => ({
    n,
    language: '',
    isDefault: n === 0,
    isAside: false,
    isKnown: true,
    isRepeat: false,
    sounds: true,
    ...more,
  });
  for (const [what, choices, tracks, isPart] of [
    ['all that sound', [track(0, { sounds: false }), track(1), track(2)], [1, 2], false],
    [
      'one language of several, the default',
      [
        track(0, { language: 'eng', isDefault: false }),
        track(1, { language: 'fra', isDefault: true }),
        track(2, { language: 'deu' }),
      ],
      [1],
      true,
    ],
    ['a language beside a track that names none', [track(0, { language: 'eng' }), track(1)], [0, 1], false],
    ['no comment', [track(0), track(1, { isAside: true })], [0], true],
    ['a comment that is all', [track(0, { sounds: false }), track(1, { isAside: true })], [1], false],
    ['what can be read, of several', [track(0, { isKnown: false }), track(1)], [1], true],
    ['one coding of the same sound', [track(0, { isKnown: false, isRepeat: true }), track(1)], [1], false],
    [
      'no coding that is not read, of another language',
      [track(0), track(1, { isKnown: false, isRepeat: true, language: 'fra' })],
      [0],
      true,
    ],
    [
      'the default of silent ones',
      [track(0, { sounds: false, isDefault: false }), track(1, { sounds: false, isDefault: true })],
      [1],
      false,
    ],
  ] as const)
    test(what, () => assert.deepEqual(tracksHeard(choices), { tracks, isPart }));
});

describe('the words for ffmpeg', () => {
  const places = { input: '/input', output: '/output/a' };
  const reading = { tracks: [{ n: 0, channel: 1 }, { n: 2 }], isSought: true };
  test('open one local file with decoders of sound alone, whatever is read of it', () => {
    const all = [
      tracksArgs(places),
      levelArgs(places, { n: 1 }),
      silenceArgs(places, reading),
      partArgs(places, reading, { startMs: 0, endMs: 5 }),
      spansArgs(places, reading, [{ startMs: 0, endMs: 5, padMs: 0 }]),
    ];
    for (const args of all) {
      const input = args.indexOf('-i');
      assert.deepEqual(args.slice(input, input + 2), ['-i', 'file:/input']);
      const before = args.slice(0, input).join(' ');
      assert.match(before, /-protocol_whitelist file -format_whitelist \S+ -codec_whitelist \S+/);
      assert.doesNotMatch(before, /hls|concat|dash|sdp|image2|h264|hevc|vp[89]|mjpeg|png|prores/);
    }
  });

  test('ask for each track and channel on the clock of the file, and mix those that are heard at once', () => {
    const graph = partArgs(places, reading, { startMs: 5_000, endMs: 6_000 });
    const filter = graph[graph.indexOf('-filter_complex') + 1] ?? '';
    assert.match(filter, /\[0:a:0\]aresample=16000:async=1:first_pts=0,pan=mono\|c0=c1,/);
    assert.match(filter, /\[0:a:2\]aresample=.*amix=inputs=2:duration=longest:normalize=0,volume=0\.707/);
    assert.deepEqual(graph.slice(graph.indexOf('-ss'), graph.indexOf('-ss') + 2), ['-ss', '3.000']);
    assert.ok(!partArgs(places, { ...reading, isSought: false }, { startMs: 5_000, endMs: 6_000 }).includes('-ss'));
  });

  test('a turn is at its place of the file, also in a part that is sought', () => {
    const turns = [{ fromMs: 4_000, toMs: 5_250, channel: 1 }];
    const part = { tracks: [{ n: 0, turns }], isSought: true };
    const filter = partArgs(places, part, { startMs: 5_000, endMs: 6_000 }).join(' ');
    assert.match(filter, /between\(t,1\.000,2\.249\)',aformat.*not\(between\(t,1\.000,2\.249\)\)',pan=mono\|c0=c1,/);
    assert.doesNotMatch(partArgs(places, part, { startMs: 8_000, endMs: 9_000 }).join(' '), /between/);
  });

  test('a part over several files is a span of each, and what lies past the last is silence after it', () => {
    const tracks = [{ n: 0 }];
    const hearing = [
      { ms: 1_000, tracks },
      { ms: 0, tracks: [] },
      { ms: 500, tracks },
    ];
    const spans = spansOf({ source: { files: ['a', 'b', 'c'], hearing }, startMs: 900, endMs: 2_000 }, 300);
    assert.deepEqual(
      spans.map(({ file, startMs, endMs, padMs }) => [file, startMs, endMs, padMs]),
      [
        ['a', 900, 1_000, 0],
        ['c', 0, 1_000, 300],
      ],
    );
  });
});

describe('what a file says of itself', () => {
  test('channels are told by every name of a layout', () => {
    const names = { mono: 1, stereo: 2, '5.1(side)': 6, quad: 4, '3 channels': 3, '2 channels (FL+FR)': 2, '7.1': 8 };
    for (const [name, count] of Object.entries(names)) assert.equal(channelsOf(name), count, name);
    assert.equal(channelsOf('odd'), undefined);
    const effects = { stereo: [], quad: [], '4.0': [], '2.1': [2], '5.1(side)': [3], '3 channels (FL+FR+LFE)': [2] };
    for (const [name, those] of Object.entries(effects)) assert.deepEqual(effectsOf(name), those, name);
  });

  test('the length of a WAV is in its chunk of samples, not where a text has that word', () => {
    const chunk = (kind: string, body: Buffer): Buffer => {
      const head = Buffer.alloc(8);
      head.write(kind);
      head.writeUInt32LE(body.length, 4);
      return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
    };
    const plain = wavHead(64_000);
    const saidMs = (...chunks: Buffer[]): number | undefined => {
      const head = Buffer.concat([plain.subarray(0, 12), ...chunks, plain.subarray(36)]);
      const said = ["Input #0, wav, from 'file:/input':", '  Stream #0:0: Audio: pcm_s16le, 16000 Hz, 1 channels, s16'];
      return listingOf(said.join('\n'), head).saidMs;
    };
    const format = plain.subarray(12, 36);
    assert.equal(saidMs(format), 2_000);
    assert.equal(saidMs(format, chunk('LIST', Buffer.from('INFOICMT....data0000000'))), 2_000);
    assert.equal(saidMs(chunk('bext', Buffer.alloc(602, 'data')), format), 2_000);
    assert.equal(saidMs(chunk('LIST', Buffer.alloc(9_000, 'data'))), undefined);
  });

  test('a name that a stranger gave is no track', () => {
    const said = [
      "Input #0, matroska,webm, from 'file:/input':",
      '  Metadata:',
      '    title           : Stream #0:5: Audio: aac, 1 Hz, mono',
      '  Duration: 00:01:02.50, start: 0.000000, bitrate: 1 kb/s',
      '  Stream #0:0(en-GB): Audio: opus, 48000 Hz, stereo, fltp (default)',
      '    Metadata:',
      '      title           : (comment)',
      "Output #0, null, to 'pipe:':",
      '  Stream #0:0(eng): Audio: opus, 48000 Hz, stereo, fltp (default)',
    ].join('\n');
    const { tracks, saidMs, format } = listingOf(said, Buffer.from(''));
    assert.deepEqual([format, saidMs, tracks.length], ['matroska', 62_500, 1]);
    assert.deepEqual(
      [tracks[0]?.language, tracks[0]?.isDefault, tracks[0]?.isAside, tracks[0]?.channels],
      ['en-GB', true, false, 2],
    );
  });
});

describe('tracks that are not read beside one that is', () => {
  const listed = (...lines: string[]) =>
    listingOf(["Input #0, mov,mp4, from 'file:/input':", ...lines].join('\n'), Buffer.from(''));
  const healthy =
    '  Stream #0:0[0x1](und): Audio: aac (LC) (mp4a / 0x6134706D), 48000 Hz, stereo, fltp, 176 kb/s (default)';
  const choices = (...lines: string[]) =>
    tracksHeard(listed(...lines).tracks.map((track) => ({ ...track, sounds: track.isKnown })));

  test('spatial sound of a phone beside the same as AAC is no lack', () => {
    const spatial = '  Stream #0:1[0x2](und): Audio: none (apac / 0x63617061), 48000 Hz, 4.0, 417 kb/s (default)';
    assert.deepEqual(choices(healthy, spatial), { tracks: [0], isPart: false });
  });

  test('one without a head refuses no file, and is none when it is alone', () => {
    const headless = '  Stream #0:1[0x101]: Audio: aac ([15][0][0][0] / 0x000F), 0 channels, fltp';
    assert.deepEqual(choices(headless, healthy), { tracks: [1], isPart: false });
    assert.throws(() => listed(headless), { reason: 'damaged' });
  });

  test('one of more samples than are decoded refuses no file, and is a lack', () => {
    const large = '  Stream #0:1: Audio: pcm_s16le, 192000 Hz, 16 channels, s16, 49152 kb/s';
    assert.deepEqual(choices(healthy, large), { tracks: [0], isPart: true });
    assert.throws(() => listed(large), { reason: 'unsupported' });
  });
});

describe('files of many recordings', () => {
  const one = { begins: [0], isLookedThrough: true };
  test('as many are read as may be, and that there are more is said', async () => {
    const file = join(folder, 'many');
    const short = Buffer.concat([wavHead(32), Buffer.alloc(32)]);
    writeFileSync(file, Buffer.concat(Array.from({ length: mostPieces + 50 }, () => short)));
    assert.equal((await beginningsOf(file)).begins.length, mostPieces + 1);
    const { files, isWhole } = await media.pieces(file);
    assert.deepEqual([files.length, isWhole], [mostPieces, false]);
  });

  test('a mark within the sound begins no recording, nor does one where boxes lie about their size', async () => {
    const heads = ['RIFF', 'WAVEfmt', 'OggS', 'fLaC', 'ftypisom', '\x1a\x45\xdf\xa3webm', 'Xing', 'Info'].join('....');
    const wav = join(folder, 'marks');
    writeFileSync(wav, Buffer.concat([wavHead(heads.length), Buffer.from(heads, 'latin1')]));
    assert.deepEqual(await beginningsOf(wav), one);
    const lying = join(folder, 'boxes');
    writeFileSync(lying, Buffer.from('\0\0\0\x08ftyp\0\0\0\x01moov\xff\xff\xff\xff\xff\xff\xff\xffftyp', 'latin1'));
    assert.deepEqual(await beginningsOf(lying), one);
  });

  test('where too much looks like the begin of one, the search ends, and it is said', async () => {
    for (const mark of ['\x1a\x45\xdf\xa3', 'RIFF\0\0\0\0WAVEfmt ', 'Xing']) {
      const head = mark === 'Xing' ? '\xff\xfb\x90\0' : mark;
      const file = join(folder, 'much');
      const marks = Buffer.alloc(256 * 1024, mark, 'latin1');
      writeFileSync(file, Buffer.concat([Buffer.from(head, 'latin1'), Buffer.alloc(36), marks]));
      assert.equal((await beginningsOf(file)).isLookedThrough, false, mark);
      assert.equal((await media.pieces(file)).isWhole, false, mark);
    }
  });

  test('an MP4 of many short fragments is looked through, with what begins behind it, and one of other boxes is not', async () => {
    const box = (kind: string, bytes = 0): Buffer => {
      const head = Buffer.alloc(8 + bytes);
      head.writeUInt32BE(head.length);
      head.write(kind, 4);
      return head;
    };
    const own = [box('ftyp', 8), box('moov')];
    const fragments = Buffer.alloc(120_000 * 26, Buffer.concat([box('moof', 8), box('mdat', 2)]));
    const file = join(folder, 'fragments');
    writeFileSync(file, Buffer.concat([...own, fragments, ...own, fragments]));
    const begins = [0, 24 + fragments.length];
    assert.deepEqual(await beginningsOf(file), { begins, isLookedThrough: true });
    writeFileSync(file, Buffer.concat([...own, Buffer.alloc(120_000 * 8, box('free'))]));
    assert.equal((await beginningsOf(file)).isLookedThrough, false);
  });

  test('an MP3 behind several tags and zeros is one, and another behind it begins', async () => {
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x20', 'latin1'), Buffer.alloc(32, 't')]);
    const footed = Buffer.concat([Buffer.from('ID3\x04\0\x10\0\0\0\x05', 'latin1'), Buffer.alloc(15, 'f')]);
    const frame = Buffer.concat([
      Buffer.from([0xff, 0xfb, 0x90, 0]),
      Buffer.alloc(32),
      Buffer.from('Xing'),
      Buffer.alloc(400, 7),
    ]);
    const file = join(folder, 'tags');
    for (const before of [
      [],
      [tag],
      [tag, tag],
      [tag, Buffer.alloc(2_000)],
      [footed, tag, Buffer.alloc(70_000), tag],
    ]) {
      writeFileSync(file, Buffer.concat([...before, frame]));
      assert.deepEqual(await beginningsOf(file), one);
      const whole = Buffer.concat([...before, frame]);
      writeFileSync(file, Buffer.concat([whole, frame]));
      assert.deepEqual((await beginningsOf(file)).begins, [0, whole.length]);
    }
  });
});
