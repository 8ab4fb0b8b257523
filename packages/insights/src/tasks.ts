import { dueIn, isAnswer, type Task, takesOn, taskIn } from './cues.ts';
import { dateWords } from './stop.words.ts';
import { wordsOfNames } from './names.ts';
import type { Spoken } from './salience.ts';
import type { HeardSpeaker, Recording } from './types.ts';
import { bare, cleanLine, fold, isStop, startOf } from './words.ts';

/** A sentence that gives somebody something to do. */
export interface Given {
  task: Task;
  owner: string | null;
  /** As it was said. */
  due: string | null;
}

/** Who may have a task: speakers by each word of their names, and everybody who was named. */
export interface People {
  speakers: ReadonlyMap<string, HeardSpeaker>;
  byWord: ReadonlyMap<string, string>;
  named: ReadonlySet<string>;
}

const mostDue = 100;

/** Reads who may have a task. */
export function peopleOf({ speakers }: Recording, named: ReadonlySet<string>): People {
  const byWord = new Map<string, string>();
  for (const { name } of speakers) {
    for (const word of wordsOfNames([name]))
      if (name !== null && word.length > 1 && !byWord.has(word)) byWord.set(word, name);
  }
  return { speakers: new Map(speakers.map((one) => [one.label, one])), byWord, named };
}

/** The task of a sentence, with who has it and by when; undefined when it gives none. `next` is the text that another said next. */
export function givenIn(
  spoken: Spoken,
  people: People,
  next: { speaker: string; text: string } | undefined,
): Given | undefined {
  const { text, utterance } = spoken;
  const { folded, at } = foldedOf(text);
  const found = dueIn(folded);
  const third = thirdOf(spoken, people, found !== undefined);
  const task = taskIn(folded) ?? (third === undefined ? undefined : 'other');
  if (task === undefined || (text.endsWith('?') && task !== 'other')) return undefined;
  const due = found ? cleanLine(text.slice(at[found[0]] ?? 0, at[found[1]] ?? text.length)) : '';
  const name = (label: string): string => people.speakers.get(label)?.name ?? label;
  let owner: string | null = third ?? null;
  if (task === 'self') owner = name(utterance.speaker);
  else if (task === 'other' && third === undefined) {
    owner = calledIn(spoken, people) ?? (next && agrees(next.text) ? name(next.speaker) : null);
  }
  return { task, owner, due: due === '' ? null : startOf(due, mostDue) };
}

const agrees = (text: string): boolean => {
  const folded = fold(startOf(text, 100)).trim();
  return isAnswer(folded) && !/^(?:no|nope|nu|exactly|exact|correct|corect)\b/.test(folded);
};

/** A name as minutes write it: a speaker's whole, another's as it was said. */
function personAt({ tokens, text }: Spoken, n: number, { byWord, named }: People): string | undefined {
  const token = tokens[n];
  if (!token?.isCapital) return undefined;
  const word = bare(token.text);
  if (dateWords.has(word)) return undefined;
  return (
    byWord.get(word) ?? (named.has(word) ? text.slice(token.start, token.end).replace(/['’]\p{L}*$/u, '') : undefined)
  );
}

/** Somebody who is said to do it: "Ana will send it". One whom nobody named before needs to be said with a place or a date. */
function thirdOf(spoken: Spoken, people: People, hasDue: boolean): string | undefined {
  for (const [n, { text: word, end, isCapital }] of spoken.tokens.entries()) {
    const after = fold(spoken.text.slice(end, end + 60));
    if (!isCapital || !takesOn.test(after)) continue;
    const person = personAt(spoken, n, people);
    if (person !== undefined) return person;
    const isNew = n === 0 && !isStop(word) && (hasDue || / (?:from|de la) /.test(after.slice(0, 9)));
    if (isNew) return spoken.text.slice(spoken.tokens[0]?.start, end);
  }
  return undefined;
}

/** Somebody who is called by name: "Ana, can you send it". */
function calledIn(spoken: Spoken, people: People): string | undefined {
  for (const [n, { start, end }] of spoken.tokens.entries()) {
    const person = personAt(spoken, n, people);
    if (person === undefined) continue;
    const after = spoken.text.slice(end, end + 1);
    const isLast = n === spoken.tokens.length - 1 && /,\s*$/.test(spoken.text.slice(Math.max(0, start - 3), start));
    if (after === ',' || isLast) return person;
  }
  return undefined;
}

/** A text folded, with the place in the text of each unit, and of its end. */
export function foldedOf(text: string): { folded: string; at: number[] } {
  let folded = '';
  const at: number[] = [];
  let from = 0;
  for (const point of text) {
    const own = fold(point);
    folded += own;
    for (let n = 0; n < own.length; n += 1) at.push(from);
    from += point.length;
  }
  at.push(from);
  return { folded, at };
}
