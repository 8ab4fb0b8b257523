import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseHTML } from 'linkedom';
import {
  contentDisposition,
  type DocumentCue,
  SHARE_PAGE_POLICY,
  type SharedDocument,
  sharePageNotFound,
  toMarkdown,
  toSharePage,
  toSrt,
  toText,
  toVtt,
  type TranscriptDocument,
} from './index.ts';
import { toDocx, toPdf } from './files.ts';

const meeting: TranscriptDocument = {
  title: 'Ședința săptămânală: buget și plăți',
  startedAt: new Date('2025-11-25T08:00:00Z'),
  durationMs: 3_723_000,
  language: 'ro',
  timeZone: 'Europe/Bucharest',
  consent: 'Toți participanții au fost anunțați.',
  speakers: [
    { label: 'S1', name: 'Ana Țurcanu' },
    { label: 'S2', name: null },
  ],
  utterances: [
    { speaker: 'S1', startMs: 1_000, endMs: 3_000, text: 'Bună ziua, încă înainte de ședință: ă â î ș ț Ă Â Î Ș Ț.' },
    { speaker: 'S2', startMs: 3_661_000, endMs: 3_663_000, text: 'Sunt de acord.' },
  ],
  insights: {
    summary: 'Echipa mută lansarea.',
    keyPoints: [{ text: 'Lansarea se mută', atMs: 62_000 }],
    actions: [{ text: 'Trimite oferta', owner: 'Ana', due: 'vineri' }],
    decisions: ['Se amână lansarea'],
    openQuestions: ['Cine plătește?'],
  },
};
const english: TranscriptDocument = { ...meeting, language: 'en', timeZone: 'UTC', consent: null };
const inRomanian = [
  'Ședința săptămânală: buget și plăți',
  '25 noiembrie 2025',
  '1 h 2 min 3 s',
  'Vorbitori',
  'Toți participanții au fost anunțați.',
  'Rezumat',
  'Puncte cheie',
  'Lansarea se mută',
  '[00:01:02]',
  'Acțiuni',
  'Trimite oferta',
  'responsabil: Ana; termen: vineri',
  'Decizii',
  'Se amână lansarea',
  'Întrebări deschise',
  'Cine plătește?',
  'Transcriere',
  '[00:00:01]',
  'Ana Țurcanu:',
  'Bună ziua, încă înainte de ședință: ă â î ș ț Ă Â Î Ș Ț.',
  '[01:01:01]',
  'S2:',
];
const inEnglish = ['Date:', 'Duration:', 'Speakers:', 'Summary', 'Key points', 'Actions', 'owner: Ana; due: vineri'];

/** Runs a reader on bytes that it gets as a file, and answers what it printed. */
function read(bytes: Uint8Array | string, extension: string, command: (file: string) => string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'documents-'));
  try {
    const file = join(folder, `document.${extension}`);
    writeFileSync(file, bytes);
    const [program = '', ...args] = command(file);
    const { status, stdout, stderr, error } = spawnSync(program, args, { maxBuffer: 64 * 1024 * 1024 });
    assert.ifError(error);
    assert.equal(status, 0, stderr.toString());
    return stdout.toString();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const textOfPdf = (pdf: Uint8Array): string => read(pdf, 'pdf', (file) => ['pdftotext', '-layout', file, '-']);
/** One part of a Word file; python reads the zip and checks that every part is well-formed XML. */
const partOfDocx = (docx: Uint8Array, part: string): string =>
  read(docx, 'docx', (file) => [
    'python3',
    '-c',
    `import sys, zipfile, xml.dom.minidom
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
for name in z.namelist():
    if name.endswith(('.xml', '.rels')): xml.dom.minidom.parseString(z.read(name))
sys.stdout.buffer.write(z.read(sys.argv[2]))`,
    file,
    part,
  ]);
const textOfDocx = (docx: Uint8Array): string =>
  partOfDocx(docx, 'word/document.xml')
    .replaceAll('</w:p>', '\n')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');

function assertHas(text: string, wanted: readonly string[]): void {
  const flat = text.replace(/\s+/g, ' ');
  let at = 0;
  for (const words of wanted) {
    const found = flat.indexOf(words, at);
    assert.ok(found >= 0, `${words} is missing, or not in its order, in: ${flat.slice(0, 2_000)}`);
    at = found;
  }
}

/** Texts that somebody may say, write or send. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(
    '',
    ' ',
    '\u202e\u202e\u2067abc',
    '\u200f\u200f',
    '\ud800',
    'a\udc00b',
    '\u0000\u0007\u001b[31m\ufffe',
    '</style><script>alert(1)</script>',
    '<!-- --> ]]>',
    '-->',
    '00:00:01,000 --> 00:00:02,000',
    'NOTE this',
    '1\n2\r\n\r\n3',
    '# a',
    '1. b',
    '- c',
    '===',
    '[x](javascript:y)',
    '![i](http://h/i.png)',
    '&lt;b&gt; &#60;',
    '👨‍👩‍👧‍👦🦄❤️🇷🇴',
    '你好世界',
    'مرحبا بكم 2026 Acme',
    'x'.repeat(1_000),
    '__proto__ constructor',
    'tab\there',
  ),
);
const time = fc.oneof(fc.integer({ min: -1_000, max: 400_000_000 }), fc.constantFrom(Number.NaN, Infinity, 0.5));
const anyDocument: fc.Arbitrary<TranscriptDocument> = fc.record({
  title: hostile,
  startedAt: fc.date({ noInvalidDate: false }),
  durationMs: time,
  language: fc.oneof(hostile, fc.constantFrom(null, 'ro', 'ro-RO', 'en', 'ar', 'zh-CN')),
  timeZone: fc.constantFrom('UTC', 'Europe/Bucharest', 'Nowhere/At-All', ''),
  consent: fc.option(hostile, { nil: null }),
  speakers: fc.array(fc.record({ label: hostile, name: fc.option(hostile, { nil: null }) }), { maxLength: 4 }),
  utterances: fc.array(fc.record({ speaker: hostile, startMs: time, endMs: time, text: hostile }), { maxLength: 6 }),
  insights: fc.option(
    fc.record({
      summary: hostile,
      keyPoints: fc.array(fc.record({ text: hostile, atMs: fc.option(time, { nil: null }) }), { maxLength: 3 }),
      actions: fc.array(
        fc.record({ text: hostile, owner: fc.option(hostile, { nil: null }), due: fc.option(hostile, { nil: null }) }),
        {
          maxLength: 3,
        },
      ),
      decisions: fc.array(hostile, { maxLength: 3 }),
      openQuestions: fc.array(hostile, { maxLength: 3 }),
    }),
    { nil: null },
  ),
});
const sharedOf = ({ insights, ...document }: TranscriptDocument): SharedDocument => ({
  ...document,
  summary: insights?.summary ?? null,
  keyPoints: insights?.keyPoints.map(({ text }) => text) ?? [],
  actions: insights?.actions ?? [],
  expiresAt: new Date('2026-01-02T03:04:05Z'),
});

/** Three hours: 5,000 utterances, 30,000 words. */
const long: TranscriptDocument = {
  ...meeting,
  durationMs: 10_800_000,
  utterances: Array.from({ length: 5_000 }, (_, at) => ({
    speaker: at % 3 === 0 ? 'S1' : 'S2',
    startMs: at * 2_160,
    endMs: at * 2_160 + 2_000,
    text: `Rostirea numărul ${at} și încă ceva`,
  })),
};

describe('text and Markdown', () => {
  test('text has title, facts, consent, insights and the transcript in this order, in Romanian', () => {
    assertHas(toText(meeting), inRomanian.toSpliced(3, 1));
    assertHas(toText(meeting), ['25 noiembrie 2025 la 10:00', '[00:00:01] Ana Țurcanu: Bună ziua']);
  });

  test('Markdown has the same content as headings, lists and bold names', () => {
    const markdown = toMarkdown(meeting);
    assertHas(markdown, inRomanian);
    assertHas(markdown, ['# Ședința', '## Rezumat', '## Puncte cheie', '- Lansarea se mută [00:01:02]']);
    assertHas(markdown, ['**[00:00:01] Ana Țurcanu:** Bună ziua']);
  });

  test('a language that is not Romanian, or unknown, gets English labels', () => {
    for (const language of ['en', 'de', null, '', 'rom', 'x'.repeat(99)]) {
      assertHas(toText({ ...english, language }), inEnglish);
      assertHas(toMarkdown({ ...english, language }), ['**Date:**', '## Key points']);
    }
  });

  test('a transcript without insights and consent has no heading for them, and an empty one says that nothing was said', () => {
    const bare = toText({ ...english, insights: null, utterances: [], speakers: [], title: '' });
    assert.doesNotMatch(bare, /Summary|Key points|Actions|Consent|Speakers/);
    assertHas(bare, ['Untitled recording', 'Duration', 'Nothing was said in this recording.']);
  });

  test('CommonMark shows what was said as it was said, and none of it becomes markup', () => {
    // Plain text underlines its headings.
    const flat = (text: string): string => text.replace(/[\s=-]+/g, '');
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 20, maxLength: 20 }), (texts) => {
        const utterances = texts.map((text, at) => ({ speaker: 'S1', startMs: at * 1000, endMs: 0, text }));
        const summary = texts.join('\n');
        const document = { ...english, title: texts.join(''), utterances, speakers: [] };
        const markdown = toMarkdown({ ...document, insights: { summary, keyPoints: [], actions: [] } });
        const html = read(markdown, 'md', (file) => ['cmark', file]);
        const tags = new Set([...html.matchAll(/<\/?([^\s>/]+)/g)].map(([, tag]) => tag));
        assert.deepEqual(
          [...tags].filter((tag) => !['h1', 'h2', 'ul', 'li', 'strong', 'p'].includes(tag ?? '')),
          [],
        );
        assert.equal((html.match(/<h\d/g) ?? []).length, 3);
        const { document: page } = parseHTML(`<html><body>${html}</body></html>`);
        const plain = toText({ ...document, insights: { summary, keyPoints: [], actions: [] } });
        const shown = flat(page.body.textContent ?? '');
        assert.equal(shown, flat(plain));
      }),
      { numRuns: 12 },
    );
  });
});

describe('PDF', () => {
  test('pdftotext reads title, facts, insights and transcript, with Romanian letters whole', async () => {
    const pdf = await toPdf(meeting);
    assertHas(textOfPdf(pdf), [...inRomanian, 'Pagina 1 din 1']);
  });

  test('it carries title, language, tags and bookmarks, and equal documents give equal bytes', async () => {
    const pdf = await toPdf(meeting);
    const info = read(pdf, 'pdf', (file) => ['pdfinfo', file]);
    assert.match(info, /Title: +Ședința săptămânală: buget și plăți\n/);
    assert.match(info, /Tagged: +yes/);
    assert.match(
      read(pdf, 'pdf', (file) => ['pdfinfo', '-struct-text', file]),
      /H1[\s\S]*H2[\s\S]*LBody/,
    );
    assert.match(Buffer.from(pdf).toString('latin1'), /\/Lang \(ro\)/);
    assert.deepEqual(await toPdf(meeting), pdf);
  });

  test('three hours become pages with numbers, nothing lost', async () => {
    const pdf = await toPdf(long);
    const text = textOfPdf(pdf);
    const pages = text.split('\f').length - 1;
    assert.ok(pages > 100, `${pages} pages`);
    assert.ok(text.includes(`Pagina ${pages} din ${pages}`));
    for (const { text: said } of long.utterances) assert.ok(text.includes(said), said);
  });

  test('characters that the font lacks become boxes, and the first page says so; a joined emoji is one box', async () => {
    const say = (text: string) => toPdf({ ...english, utterances: [{ speaker: 'S1', startMs: 0, endMs: 1, text }] });
    assertHas(textOfPdf(await say('before 你好 👨‍👩‍👧‍👦 after')), ['A box (□) stands for', 'before □□']);
    assert.match(textOfPdf(await say('a 🏳️‍🌈 z')), /a .{1,2} z/u);
    assert.doesNotMatch(textOfPdf(await say('ș s\u0326 ❤ Ω я')), /□/);
  });

  test('a word as long as many lines is broken, and all of it is there', async () => {
    const text = 'Ж'.repeat(4_000);
    const pdf = await toPdf({ ...english, utterances: [{ speaker: 'S1', startMs: 0, endMs: 1, text }] });
    assert.equal(textOfPdf(pdf).match(/Ж/g)?.length, 4_000);
  });

  test('it takes any document', async () => {
    await fc.assert(
      fc.asyncProperty(anyDocument, async (document) => {
        const pdf = await toPdf(document);
        assert.match(textOfPdf(pdf), /\f$/);
      }),
      { numRuns: 12 },
    );
  });
});

describe('DOCX', () => {
  test('it has title, facts, insights and transcript in this order', async () => {
    assertHas(textOfDocx(await toDocx(meeting)), inRomanian);
    assertHas(textOfDocx(await toDocx(english)), inEnglish);
  });

  test('its properties carry the title, its text the language', async () => {
    const docx = await toDocx(meeting);
    assert.match(partOfDocx(docx, 'docProps/core.xml'), /<dc:title>Ședința săptămânală: buget și plăți<\/dc:title>/);
    assert.match(partOfDocx(docx, 'word/styles.xml'), /<w:lang [^>]*w:val="ro"/);
  });

  test('three hours fit, nothing lost', async () => {
    const text = textOfDocx(await toDocx(long));
    for (const { text: said } of long.utterances) assert.ok(text.includes(said), said);
  });

  test('any document is a zip of well-formed XML', async () => {
    await fc.assert(
      fc.asyncProperty(anyDocument, async (document) => {
        textOfDocx(await toDocx(document));
      }),
      { numRuns: 12 },
    );
  });
});

describe('subtitles', () => {
  const nameOf = (label: string): string => (label === 'S1' ? 'Ana <A&B>' : '');
  const cues: DocumentCue[] = [
    { startMs: 0, endMs: 1_500, lines: ['Bună ziua', 'tuturor.'], speaker: 'S1' },
    { startMs: 3_600_000, endMs: 3_600_999, lines: ['a --> b <i>c</i> & d', '', 'NOTE\r\n\r\n12'], speaker: 'S1' },
    { startMs: 3_601_000, endMs: 3_600_000, lines: ['', ' '], speaker: 'S1' },
    { startMs: 3_601_000, endMs: 3_601_000, lines: ['Da.'], speaker: 'S2' },
  ];

  test('WebVTT names the speaker of each cue and escapes all text; cues without text are left out', () => {
    assert.equal(
      toVtt(cues, nameOf),
      [
        'WEBVTT\n',
        '00:00:00.000 --> 00:00:01.500\n<v Ana &lt;A&amp;B&gt;>Bună ziua\ntuturor.\n',
        '01:00:00.000 --> 01:00:00.999\n<v Ana &lt;A&amp;B&gt;>a --&gt; b &lt;i&gt;c&lt;/i&gt; &amp; d\nNOTE\n12\n',
        '01:00:01.000 --> 01:00:01.001\nDa.\n',
      ].join('\n'),
    );
  });

  test('SubRip numbers its cues, names a speaker when he begins, and keeps arrows and tags in text harmless', () => {
    assert.equal(
      toSrt(cues, nameOf),
      [
        '1\n00:00:00,000 --> 00:00:01,500\nAna <\u2060A&B>: Bună ziua\ntuturor.\n',
        '2\n01:00:00,000 --> 01:00:00,999\na --\u2060> b <\u2060i>c<\u2060/i> & d\nNOTE\n12\n',
        '3\n01:00:01,000 --> 01:00:01,001\nDa.\n',
      ].join('\n'),
    );
    assert.equal(toSrt([], nameOf), '');
    assert.equal(toVtt([], nameOf), 'WEBVTT\n');
  });

  test('a long name in SubRip has a line of its own before a full line, and no line is longer than 42', () => {
    const line = 'Acesta este un rând de patruzeci de semne.';
    const cue = { startMs: 0, endMs: 1_000, speaker: 'S1' };
    const long = 'Dr. Anamaria Popescu-Tăriceanu';
    assert.match(
      toSrt([{ ...cue, lines: [line] }], () => long),
      new RegExp(`\n${long}:\n${line}\n$`),
    );
    assert.match(
      toSrt([{ ...cue, lines: ['Da.'] }], () => long),
      new RegExp(`\n${long}: Da\\.\n$`),
    );
    assert.match(
      toSrt([{ ...cue, lines: [line] }], () => '今'.repeat(40)),
      new RegExp(`\n今{20}…\n${line}\n$`),
    );
  });

  test('ffmpeg finds each cue once, at its time, whatever its text', () => {
    const lines = fc.array(hostile, { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.record({ lines, speaker: hostile }), { minLength: 1, maxLength: 8 }), (given) => {
        const made = given.map((cue, at) => ({
          ...cue,
          lines: ['x', ...cue.lines],
          startMs: at * 2000,
          endMs: at * 2000 + 1500,
        }));
        for (const [format, text] of [
          ['srt', toSrt(made, String)],
          ['vtt', toVtt(made, String)],
        ] as const) {
          const show = 'packet=pts_time,duration_time';
          const found = read(text, format, (file) => [
            'ffprobe',
            '-v',
            'error',
            '-show_entries',
            show,
            '-of',
            'csv=p=0',
            file,
          ]);
          const wanted = made.map(({ startMs }) => `${(startMs / 1000).toFixed(6)},1.500000`);
          assert.deepEqual(found.trim().split('\n'), wanted);
        }
      }),
      { numRuns: 10 },
    );
    for (const [format, text] of [
      ['srt', toSrt(cues, nameOf)],
      ['vtt', toVtt(cues, nameOf)],
    ] as const) {
      read(text, format, (file) => ['ffmpeg', '-v', 'error', '-xerror', '-i', file, '-f', 'webvtt', '-']);
    }
  });
});

describe('share page', () => {
  const shared = sharedOf(meeting);

  test('it shows title, facts, insights, transcript and when the link ends, in the language of the transcript', () => {
    const { document } = parseHTML(toSharePage(shared));
    assert.equal(document.documentElement.getAttribute('lang'), 'ro');
    assert.equal(document.documentElement.getAttribute('dir'), 'ltr');
    assert.equal(document.querySelector('h1 > bdi')?.textContent, meeting.title);
    assert.equal(document.title, meeting.title);
    assertHas(document.body.textContent ?? '', [
      'Ședința săptămânală',
      '25 noiembrie 2025',
      '1 h 2 min 3 s',
      'Ana Țurcanu',
      'Rezumat',
      'Echipa mută lansarea.',
      'Puncte cheie',
      'Acțiuni',
      'Trimite oferta (responsabil: Ana)',
      'Transcriere',
      'Ana Țurcanu',
      '[00:00:01]',
      'Acest link este valabil până la 2 ianuarie 2026',
    ]);
    assert.doesNotMatch(toSharePage({ ...shared, expiresAt: null }), /<footer|valabil/);
  });

  test('decisions, open questions, due dates and consent stay private, even if a caller passes them', () => {
    const careless = { ...meeting, ...meeting.insights, ...shared, insights: meeting.insights };
    assert.doesNotMatch(toSharePage(careless), /Se amână|Cine plătește|vineri|anunțați|Decizii|Întrebări/);
  });

  test('it has no script, no request, is not indexed and sends no referrer, whatever was said', () => {
    const known = new Set(
      'html head meta title style body header main section footer div h1 h2 p dl dt dd ul li time bdi span'.split(' '),
    );
    fc.assert(
      fc.property(anyDocument, (given) => {
        const html = toSharePage(sharedOf(given));
        assert.ok(html.isWellFormed());
        const { document } = parseHTML(html);
        const elements = [...document.querySelectorAll('*')];
        assert.deepEqual(
          elements.map(({ localName }) => localName).filter((name) => !known.has(name)),
          [],
        );
        const attributes = new Set(elements.flatMap((element) => [...element.getAttributeNames()]));
        const usual = 'lang dir charset name content class id aria-labelledby datetime'.split(' ');
        assert.deepEqual(
          [...attributes].filter((name) => !usual.includes(name)),
          [],
        );
        assert.equal(document.querySelectorAll('style').length, 1);
        assert.equal(document.querySelector('meta[name=robots]')?.getAttribute('content'), 'noindex');
        assert.equal(document.querySelector('meta[name=referrer]')?.getAttribute('content'), 'no-referrer');
      }),
      { numRuns: 300 },
    );
  });

  test('the policy admits the one style of the pages and nothing else', () => {
    for (const html of [toSharePage(shared), sharePageNotFound()]) {
      const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? '';
      const hash = createHash('sha256').update(style).digest('base64');
      assert.ok(SHARE_PAGE_POLICY.includes(`style-src 'sha256-${hash}'`));
      assert.doesNotMatch(style, /url\(|@import/);
    }
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) {
      assert.ok(SHARE_PAGE_POLICY.includes(rule));
    }
  });

  test('a language written from right to left turns the page, and labels say that they are English', () => {
    const { document } = parseHTML(toSharePage({ ...shared, language: 'ar' }));
    assert.equal(document.documentElement.getAttribute('dir'), 'rtl');
    assert.equal(document.querySelector('h2')?.getAttribute('lang'), 'en');
  });

  test('a link that leads nowhere gets one page, which tells nobody why', () => {
    assert.match(sharePageNotFound(), /<html lang="en"[\s\S]*This transcript is not available/);
    assert.match(sharePageNotFound('ro'), /<html lang="ro"[\s\S]*Această transcriere nu este disponibilă/);
    assert.equal(sharePageNotFound('xx'), sharePageNotFound(null));
  });
});

describe('content-disposition', () => {
  const parts = (title: string, extension = 'pdf') => {
    const header = contentDisposition(title, extension);
    const match = /^attachment; filename="([\x20-\x7e]*)"; filename\*=UTF-8''([\w!#$&+.^`|~%-]*)$/.exec(header);
    assert.ok(match, header);
    return { plain: match[1] ?? '', exact: decodeURIComponent(match[2] ?? '') };
  };

  test('the ASCII name has the letters without their marks, the other one the title itself', () => {
    assert.deepEqual(parts('Ședința „Țară” ß'), { plain: 'Sedinta Tara ss.pdf', exact: 'Ședința „Țară” ß.pdf' });
    assert.deepEqual(parts(`it's (a) "test" 50%*`), {
      plain: `it's (a) -test- 50--.pdf`,
      exact: `it's (a) "test" 50%*.pdf`,
    });
    assert.deepEqual(parts('会议'), { plain: 'transcript.pdf', exact: '会议.pdf' });
    assert.deepEqual(parts(''), { plain: 'transcript.pdf', exact: 'transcript.pdf' });
    assert.deepEqual(parts('../../etc/passwd', 'p/d"f\r\n'), {
      plain: '-..-etc-passwd.pdf',
      exact: '..-..-etc-passwd.pdf',
    });
    assert.deepEqual(parts('\u202egpj.exe\u200f'), { plain: 'gpj.exe.pdf', exact: '\u202egpj.exe\u200f.pdf' });
  });

  test('no title breaks the header, names a folder or grows past 200 characters', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary', minLength: 150, maxLength: 400 })), (title) => {
        const { plain, exact } = parts(title, 'docx');
        for (const name of [plain, exact]) {
          assert.doesNotMatch(name, /[/\\\p{Cc}]/u);
          assert.ok(Array.from(name).length <= 205);
          assert.ok(name.length > '.docx'.length);
        }
        assert.doesNotMatch(plain, /["\\]/);
      }),
    );
  });
});

test('the font files are whole as the package ships them', () => {
  const font = readFileSync(new URL(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf')));
  assert.equal(font.readUInt32BE(0), 0x0001_0000);
});
