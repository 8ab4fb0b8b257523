import { decides, isAnswer, isSmallTalk, isUnsure } from './cues.ts';
import { citationOf } from './grounds.ts';
import { namesOf } from './names.ts';
import { numbersOf } from './numbers.ts';
import { shortened } from './quotes.ts';
import { bestOf, scoresOf, type Spoken, spokenOf, weightsOf } from './salience.ts';
import { type Given, givenIn, peopleOf } from './tasks.ts';
import { spokenLanguage, titleOf } from './title.ts';
import type { Cited, Insights, Recording } from './types.ts';
import { cleanLine, fold, isStop, startOf, stem, tokensOf } from './words.ts';

const mostSummary = 4;
const mostPoints = 8;
const mostActions = 20;
const mostDecisions = 12;
const mostQuestions = 10;
/** Words and roots of a sentence that can stand alone. */
const leastTokens = 4;
const leastStems = 2;
/** Utterances after a question in which its answer is looked for, and characters of each. */
const answeredWithin = 3;
/** Utterances after a question in which a decision settles it. */
const settledWithin = 6;
const answerUnits = 400;

/**
 * The insights of a recording without a model: its own sentences, ranked, and those with phrases of English or Romanian that
 * give a task, settle something, or ask what nobody answers. Equal recordings give equal insights; `prompts` is empty.
 */
export function extractInsights(recording: Recording): Insights {
  const spoken = spokenOf(recording);
  const scores = scoresOf(spoken, weightsOf(spoken));
  const folded = spoken.map(({ text }) => fold(text));
  const isDecision = spoken.map((one, n) => canStand(one) && decides(folded[n] ?? ''));
  const decided = spoken.filter((_, n) => isDecision[n]);
  const decisions = [
    ...new Map(decided.toReversed().map((one) => [fold(cleanLine(one.text)), one])).values(),
  ].toReversed();
  const settled = Map.groupBy(decided, ({ place }) => place);
  const tasks = tasksOf(recording, spoken);
  const worth = scores.map((score, n) => score * (isDecision[n] ? 1.4 : tasks[n]?.due ? 1.2 : 1));
  const telling = spoken.map((one, n) => (canStand(one) && one.stems.size > leastStems ? (worth[n] ?? 0) : 0));
  // A recording of short sentences has no better ones.
  const ranks = telling.some((score) => score > 0) ? telling : worth;
  return {
    language: spokenLanguage(recording),
    title: titleOf(recording),
    summary: bestOf(spoken, ranks, mostSummary).map(sentenceOf).join(' '),
    key_points: bestOf(spoken, ranks, mostPoints).map(citedOf),
    actions: actionsOf(spoken, tasks, isDecision),
    decisions: decisions.slice(0, mostDecisions).map(citedOf),
    open_questions: spoken
      .filter((one, n) => isOpen(recording, one, folded[n] ?? '', tasks[n]) && !isSettled(one, settled))
      .slice(-mostQuestions)
      .map(citedOf),
    prompts: [],
    dropped: 0,
  };
}

const canStand = ({ tokens, stems }: Spoken): boolean => tokens.length >= leastTokens && stems.size >= leastStems;

const citedOf = ({ text, utterance }: Spoken): Cited => ({
  text: cleanLine(text),
  citations: [citationOf(utterance, shortened(text))],
});

const sentenceOf = ({ text }: Spoken): string => {
  const own = cleanLine(text).replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
  return /[.!?…]["”’»)\]]*$/u.test(own) ? own : `${own}.`;
};

function tasksOf(recording: Recording, spoken: readonly Spoken[]): (Given | undefined)[] {
  const people = peopleOf(recording, new Set(namesOf(recording.utterances).keys()));
  return spoken.map((one) => {
    const next = recording.utterances[one.place + 1];
    const other = next && next.speaker !== one.utterance.speaker ? next : undefined;
    return canStand(one) ? givenIn(one, people, other) : undefined;
  });
}

/** The tasks of sentences, those with an owner or a date first when they are too many. */
function actionsOf(
  spoken: readonly Spoken[],
  tasks: readonly (Given | undefined)[],
  isDecision: readonly boolean[],
): Insights['actions'] {
  const found = tasks.flatMap((given, n) => {
    const own = spoken[n];
    if (!given || !own || (isDecision[n] && given.owner === null)) return [];
    return [{ n, own, given, weight: (given.owner === null ? 0 : 2) + (given.due === null ? 0 : 1) }];
  });
  // Who is asked twice says it twice: one task.
  const once = [...new Map(found.toReversed().map((one) => [fold(cleanLine(one.own.text)), one])).values()];
  const best = once.toSorted((a, b) => b.weight - a.weight || a.n - b.n).slice(0, mostActions);
  return best.sort((a, b) => a.n - b.n).map(({ own, given: { owner, due } }) => ({ ...citedOf(own), owner, due }));
}

/** Whether a sentence asks something that what follows does not answer. */
function isOpen({ utterances }: Recording, asked: Spoken, folded: string, task: Given | undefined): boolean {
  if (!folded.endsWith('?') || !canStand(asked) || task || isSmallTalk(folded)) return false;
  const rest = asked.utterance.text.slice(asked.end).trim();
  const after = utterances.slice(asked.place + 1, asked.place + 1 + answeredWithin);
  const heard = [{ text: rest, speaker: asked.utterance.speaker }, ...after];
  for (const { text, speaker } of heard) {
    const start = startOf(text, answerUnits);
    const said = fold(start).trim();
    if (isUnsure(said)) return true;
    if (speaker !== asked.utterance.speaker && answersIt(asked, start, said)) return false;
  }
  return true;
}

/** Whether a decision that takes up the question's words follows soon. */
function isSettled({ place, stems }: Spoken, decisions: ReadonlyMap<number, readonly Spoken[]>): boolean {
  for (let at = place; at <= place + settledWithin; at += 1) {
    if (decisions.get(at)?.some((one) => [...stems].some((root) => one.stems.has(root)))) return true;
  }
  return false;
}

/** An answer says yes or no, or takes up the question's words, or says a number or name. */
function answersIt(asked: Spoken, text: string, folded: string): boolean {
  if (isAnswer(folded)) return true;
  const tokens = tokensOf(text);
  if (numbersOf(tokens).strong.size > 0) return true;
  return tokens.some(({ text: word }) => !isStop(word) && asked.stems.has(stem(word)));
}
