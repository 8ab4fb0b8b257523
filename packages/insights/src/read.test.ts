import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { contentWords, type Insights, readInsights, type Recording } from './index.ts';
import { meeting, recordingOf, threeHours } from './insights.testing.ts';

const en = meeting('en');
const ro = meeting('ro');

const whole = {
  title: 'Launch',
  summary: '',
  key_points: [],
  actions: [],
  decisions: [],
  open_questions: [],
  prompts: [],
};
const ask = (answer: object, recording: Recording = en): Insights => {
  const read = readInsights(JSON.stringify({ ...whole, ...answer }), recording);
  assert.ok('insights' in read, JSON.stringify(read));
  return read.insights;
};
const at = (...seqs: number[]) => seqs.map((seq) => ({ seq }));
const summaries = new Map([
  [en, 'The venue costs twelve thousand euros.'],
  [ro, 'Andrei face testul cu borcanele până miercuri.'],
]);
/** The sentences of key points that stay. */
const kept = (text: string, seqs: number[], recording = en): string[] =>
  ask(
    { key_points: [{ text, citations: at(...seqs) }], summary: summaries.get(recording) ?? '' },
    recording,
  ).key_points.map((point) => point.text);

/** What must hold of all insights. */
function check(insights: Insights, recording: Recording): void {
  const bySeq = new Map(recording.utterances.map((one) => [one.seq, one]));
  const { actions, key_points, decisions, open_questions, prompts } = insights;
  for (const { text, citations } of [...actions, ...key_points, ...decisions, ...open_questions]) {
    assert.ok(text.trim() !== '' && text.length <= 1_000 && citations.length > 0 && citations.length <= 10);
    for (const { seq, speaker, start_ms, end_ms, quote } of citations) {
      const own = bySeq.get(seq);
      assert.deepEqual([speaker, start_ms, end_ms], [own?.speaker, own?.startMs, own?.endMs]);
      if (quote !== undefined) assert.ok(own?.text.includes(quote) && quote.length <= 300, quote);
    }
  }
  for (const { owner, due } of actions) assert.ok((owner ?? '').length <= 100 && (due ?? '').length <= 100);
  const texts = [insights.title, insights.summary, ...prompts.flatMap(({ title, prompt }) => [title, prompt])];
  for (const text of texts) assert.ok(text.isWellFormed() && !text.includes('\0') && text.length <= 4_000);
  assert.ok(key_points.length <= 20 && actions.length <= 50 && decisions.length <= 30 && open_questions.length <= 30);
  assert.ok(prompts.length <= 12 && insights.title.length <= 200 && insights.title !== '');
  assert.ok(Number.isInteger(insights.dropped) && insights.dropped >= 0);
}

describe('insights of a model', () => {
  test('get times and speakers of the recording, and quotes as they stand there', () => {
    const insights = ask({
      summary: [{ text: 'Both platforms launch together on the 14th of May.', citations: at(18) }],
      key_points: [
        {
          text: 'The payment screen crashes on the iPhone when the card is declined.',
          citations: [
            { seq: 5, quote: 'ON THE  iphone it still crashes' },
            7,
            { seq: 5, quote: 'never said' },
            { seq: 999 },
          ],
        },
      ],
      actions: [
        {
          text: 'Sara checks the retry logic and sends a fix by Thursday.',
          owner: 'S2',
          due: 'by Thursday',
          citations: at(9),
        },
        {
          text: 'Call the venue and ask whether the 21st is free.',
          owner: 'laura costa',
          due: '2026-05-04',
          citations: at(21),
        },
        { text: 'Ask Dana from legal about the annual contracts.', owner: 'Dana', due: null, citations: at(41) },
        { text: 'Fix the French translation.', owner: 'Napoleon', citations: at(34) },
      ],
    });
    const [first, second] = insights.key_points[0]?.citations ?? [];
    const cited = en.utterances[5];
    assert.deepEqual(first, {
      seq: 5,
      speaker: 'S2',
      start_ms: cited?.startMs,
      end_ms: cited?.endMs,
      quote: 'on the iPhone it still crashes',
    });
    assert.equal(second?.seq, 7);
    assert.deepEqual(
      insights.actions.map(({ owner, due }) => [owner, due]),
      [
        ['Sara Lind', 'by Thursday'],
        ['Laura Costa', null],
        ['Dana', null],
        [null, null],
      ],
    );
    assert.deepEqual([insights.summary, insights.dropped], ['Both platforms launch together on the 14th of May.', 0]);
  });

  test('keep what utterances carry within two of a cited one, in other forms of the words, and in figures for words', () => {
    assert.equal(kept('Laura calls the venue and asks whether the 21st is free.', [21]).length, 1);
    assert.equal(kept('The venue costs 12,000 euros for the evening, with catering for 200 people.', [21]).length, 1);
    assert.equal(kept('There are around 340 annual customers.', [45]).length, 1);
    assert.equal(kept('The conversion went from 2.1 to 3.4 percent.', [25]).length, 1);
    assert.equal(kept('Comanda minimă este de 20.000 de cutii, cu 9% sub prețul vechi.', [24], ro).length, 1);
    assert.equal(kept('Cursul costa 1200 de lei de persoana si dureaza 2 saptamani.', [43], ro).length, 1);
  });

  test('lose what no utterance carries: another number, name, day, place of the recording, or a denial of what was said', () => {
    const lies: [string, number[], Recording?][] = [
      ['The venue costs 13,000 euros for the evening.', [23]],
      ['The launch event is on the 15th of May.', [12]],
      ['Sara sends a fix by Monday.', [9]],
      ['Peter checks the retry logic and sends a fix by Thursday.', [9]],
      ['Bogdan will check the retry logic and send a fix.', [9]],
      ['We did not decide to launch both platforms together on the 14th of May.', [18]],
      ['The payment screen crashes on the iPhone.', [50]],
      ['The company was sold to an investor from Berlin.', [18]],
      ['Agreed.', [20]],
      ['Half of our customers are not on iPhones.', [16]],
      ['The instalația electrică are avizul.', [5], ro],
      ['People understand what a seat is on the team plan.', [27]],
      ['Chiria dublă este de nouă mii de euro pe lună și nouăzeci de lei.', [10], ro],
      ['Nu am hotărât nimic despre ambalaje și cutii.', [29], ro],
    ];
    for (const [text, seqs, recording = en] of lies) assert.deepEqual(kept(text, seqs, recording), [], text);
    assert.ok(
      'wrong' in
        readInsights(JSON.stringify({ ...whole, decisions: [{ text: 'We buy Greenland.', citations: at(1) }] }), en),
    );
  });

  test('lose a sentence of a text and keep the rest, and count each', () => {
    const insights = ask({
      summary:
        'The venue costs twelve thousand euros. Elvis lives in Cluj. Both platforms launch together on the 14th of May.',
      key_points: [
        { text: 'The pricing page goes live for everybody next week. Revenue will double in 2027.', citations: at(37) },
        { text: 'Uncited things are nothing.', citations: [] },
        { text: 'The pricing page has been live for two weeks.', citations: at(4_000) },
      ],
    });
    assert.equal(
      insights.summary,
      'The venue costs twelve thousand euros. Both platforms launch together on the 14th of May.',
    );
    assert.deepEqual(
      insights.key_points.map(({ text }) => text),
      ['The pricing page goes live for everybody next week.'],
    );
    assert.equal(insights.dropped, 4);
  });

  test('get a title of the recording when their own names what nobody said', () => {
    assert.equal(
      ask({ title: 'Mobile app launch on the 14th of May', summary: 'The venue costs twelve thousand euros.' }).title,
      'Mobile app launch on the 14th of May',
    );
    assert.equal(
      ask({ title: 'Meeting with Elvis', summary: 'The venue costs twelve thousand euros.' }).title,
      'Pricing, page, launch',
    );
  });

  test('hold no sentence of words that were not said, whatever is cited', () => {
    const said = new Set(contentWords(en.utterances.map(({ text }) => text).join(' ')));
    const word = fc.stringMatching(/^[b-df-hj-np-tv-z]{5,9}$/).filter((one) => !said.has(one));
    const seqs = fc.array(fc.nat(61), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(word, { minLength: 2, maxLength: 12 }), seqs, (words, cited) => {
        const text = `${words.join(' ')}.`;
        const read = readInsights(
          JSON.stringify({ ...whole, summary: text, key_points: [{ text, citations: cited }] }),
          en,
        );
        assert.ok('wrong' in read, text);
      }),
      { numRuns: 300 },
    );
  });

  test('keep every sentence of the recording that says something, when it is cited', () => {
    for (const recording of [en, ro]) {
      for (const { seq, text } of recording.utterances) {
        if (contentWords(text).length < 3) continue;
        const { dropped } = ask({ decisions: [{ text, citations: [{ seq, quote: text }] }] }, recording);
        const sayNothing = text
          .split(/(?<=[.?!])\s/)
          .filter((one) => contentWords(one).length === 0 || /^(?:agreed|perfect|not)/i.test(one));
        assert.ok(dropped <= sayNothing.length + 1, text);
      }
    }
  });
});

describe('a hostile answer', () => {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, -1, 1e300, '\0', '\ud800', 'x'.repeat(5_000), '__proto__', [], {}),
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(...en.utterances.map((one) => `${one.text}\0\ud800`)),
  );
  const cites = fc.array(
    fc.oneof(
      { weight: 60, arbitrary: fc.oneof(fc.integer(), fc.nat(61), fc.record({ seq: fc.nat(70), quote: text })) },
      { weight: 1, arbitrary: odd },
    ),
    {
      maxLength: 30,
    },
  );
  const item = fc.oneof(
    { weight: 60, arbitrary: fc.record({ text, citations: cites, owner: text, due: text }) },
    { weight: 1, arbitrary: odd },
  );
  const list = fc.oneof({ weight: 60, arbitrary: fc.array(item, { maxLength: 4 }) }, { weight: 1, arbitrary: odd });
  const answer = fc.record({
    title: text,
    summary: fc.oneof(text, list),
    key_points: list,
    actions: list,
    decisions: list,
    open_questions: list,
    prompts: fc.oneof(
      { weight: 1, arbitrary: odd },
      { weight: 60, arbitrary: fc.array(fc.record({ title: text, prompt: text }), { maxLength: 30 }) },
    ),
  });

  test('never throws, and what is read of it is within bounds and stands in the recording', () => {
    let good = 0;
    fc.assert(
      fc.property(answer, (value) => {
        const read = readInsights(JSON.stringify(value), en);
        if ('wrong' in read) assert.ok(read.wrong.length > 0 && read.wrong.length <= 300);
        else check(read.insights, en);
        if ('insights' in read) good += 1;
      }),
      { numRuns: 1_000 },
    );
    assert.ok(good > 100, `${good}`);
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (value) => void readInsights(value, en)));
  });

  test('of braces, of 10,000 statements, of endless texts and quotes is refused or cut', () => {
    for (const value of [
      '{'.repeat(900_000),
      '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000),
      '[]',
      '',
      '{}',
      '{"title":1}',
      'x'.repeat(2_000_000),
    ]) {
      assert.ok('wrong' in readInsights(value, en));
    }
    const { text, seq } = en.utterances[18] as { text: string; seq: number };
    const many = Array.from({ length: 10_000 }, () => ({
      text: `We decided to launch both platforms together.`,
      citations: [seq],
    }));
    const insights = ask({ key_points: many, actions: many.slice(0, 200) });
    check(insights, en);
    assert.equal(insights.key_points.length, 1);
    const apart = en.utterances
      .filter((one) => contentWords(one.text).length > 4)
      .map((one) => ({ text: one.text, citations: [one.seq] }));
    const full = ask({
      key_points: Array.from({ length: 100 }, () => apart)
        .flat()
        .slice(0, 3_000),
    });
    check(full, en);
    assert.ok(full.key_points.length === 20 && full.dropped > 2_000);
    const quote = 'we decided to '.repeat(1_000);
    const long = ask({
      decisions: [{ text: `${text} `.repeat(500), citations: Array.from({ length: 50 }, () => ({ seq, quote })) }],
    });
    check(long, en);
    assert.ok('wrong' in readInsights(JSON.stringify({ ...whole, summary: `${'.'.repeat(39_000)}x` }), en));
    const same = recordingOf(Array.from({ length: 500 }, () => `S1: ${'a '.repeat(2_000)}`));
    const slow = Array.from({ length: 10 }, (_, n) => ({
      text: 'a a a',
      citations: [{ seq: n, quote: `${'a '.repeat(1_900)}b` }],
    }));
    assert.ok('wrong' in readInsights(JSON.stringify({ ...whole, key_points: slow }), same));
  });

  test('about a recording without utterances, and one of three hours, is read', () => {
    check(ask({ key_points: [{ text: 'Anything.', citations: [1] }] }, recordingOf([])), recordingOf([]));
    const long = threeHours();
    check(
      ask(
        {
          summary: 'The venue costs twelve thousand euros.',
          decisions: [{ text: 'It is number 4711.', citations: at(4_711) }],
        },
        long,
      ),
      long,
    );
  });
});
