import { between, endsClause, endsSentence, joinWords, pieces, wordsIn } from './text.ts';
import { columnsOf } from './width.ts';
import { estimateWords } from './words.ts';

/** Lines of a subtitle, shown from startMs to endMs. */
export interface Cue {
  startMs: number;
  endMs: number;
  /** One or two, 42 columns each at most. */
  lines: string[];
  speaker: string;
}

interface Timed {
  text: string;
  startMs: number;
  endMs: number;
}

interface Said {
  speaker: string;
  startMs: number;
  endMs: number;
  text: string;
  words?: readonly Timed[];
}

const lineLength = 42;
const shortestMs = 1_000;
const longestMs = 7_000;
/** A cue is full enough at a sentence's end from so many characters on. */
const enough = 30;
/** A pause of this ends a cue. */
const pauseMs = 1_500;
/** Where a full cue is broken, a sentence's or clause's end counts from this part of it on. */
const leastPart = 0.4;

/**
 * Subtitles of utterances, in order of time. Each shows one speaker, on two lines of 42 columns at most, for 1 to 7 s; a
 * longer word is cut over lines, between graphemes. No word is lost: where text and words of an utterance differ, its text is
 * shown. No overlap > at least 1 s > exact times: a cue that begins before the one before it ends is shown after that one,
 * which is cut to 1 s for it. So speakers who talk at once follow each other by start, and a delay is made up as soon as the
 * speech is slower than a cue a second. `leadOf` is what `withLead` puts before the first cue of an utterance: room is left
 * for it.
 */
export function cuesOf(utterances: readonly Said[], leadOf = (_speaker: string): string => ''): Cue[] {
  const wanted = utterances.flatMap((said) => cuesOfOne(tokensOf(said), said.speaker, roomOf(leadOf(said.speaker))));
  wanted.sort((a, b) => a.startMs - b.startMs);
  let free = 0;
  for (const [n, cue] of wanted.entries()) {
    const next = wanted[n + 1]?.startMs ?? Infinity;
    cue.startMs = Math.max(cue.startMs, free);
    const end = Math.min(cue.endMs, next, cue.startMs + longestMs);
    cue.endMs = Math.max(end, cue.startMs + shortestMs);
    free = cue.endMs;
  }
  return wanted;
}

/** Columns that a lead takes of the first line; a long one has it for itself. */
function roomOf(lead: string): number {
  if (lead === '') return 0;
  const columns = columnsOf(lead) + 1;
  return columns > lineLength / 2 ? lineLength : columns;
}

/** Lines of a cue behind a lead, who speaks: on the first line where it fits, else on one of its own. */
export function withLead(lead: string, lines: readonly string[]): string[] {
  if (lead === '') return [...lines];
  const [first = '', ...rest] = lines;
  if (columnsOf(lead) + 1 + columnsOf(first) <= lineLength) return [`${lead} ${first}`, ...rest];
  const [start = ''] = pieces(lead, lineLength - 1, columnsOf);
  return [columnsOf(lead) > lineLength ? `${start}…` : lead, ...lines];
}

/** A word, or a piece of one that is longer than a line. */
interface Token extends Timed {
  /** What stands before it on its line: a space, or nothing in the middle of a word. */
  space: '' | ' ';
}

/** The words to show, in order, with times that never go back. */
function tokensOf({ text, words = [], startMs, endMs }: Said): Token[] {
  const shown = wordsIn(text);
  const same = joinWords(words) === joinWords(shown.map((word) => ({ text: word }))) || words.length === shown.length;
  const timed = same && words.length === shown.length ? words : estimateWords(text, startMs, endMs);
  let at = Math.max(0, finite(startMs));
  let before: string | undefined;
  return shown.flatMap((word, n) => {
    const space = before === undefined ? '' : between(before, word);
    before = word;
    const from = Math.max(at, Math.round(finite(timed[n]?.startMs)));
    const to = Math.max(from, Math.round(finite(timed[n]?.endMs)));
    const parts = pieces(word, lineLength, columnsOf);
    const share = (to - from) / parts.length;
    at = Math.round(from + share * (parts.length - 1));
    return parts.map(
      (part, k): Token => ({
        text: part,
        startMs: Math.round(from + share * k),
        endMs: Math.round(from + share * (k + 1)),
        space: k === 0 ? space : '',
      }),
    );
  });
}

/** A time that is no finite number counts as 0; what is beyond a year is a year. */
const finite = (at: number | undefined): number => Math.min(Number.isFinite(at) ? (at ?? 0) : 0, 31_536_000_000);

/** Cues of one utterance at the times of their words. */
function cuesOfOne(tokens: readonly Token[], speaker: string, lead: number): Cue[] {
  const cues: Cue[] = [];
  for (let from = 0; from < tokens.length; ) {
    const room = from === 0 ? lead : 0;
    const to = endOfCue(tokens, from, room);
    const own = tokens.slice(from, to);
    const startMs = own[0]?.startMs ?? 0;
    const endMs = own.reduce((latest, token) => Math.max(latest, token.endMs), startMs);
    cues.push({ startMs, endMs, lines: linesOf(own, room), speaker });
    from = to;
  }
  return cues;
}

/** The token after the last one of a cue that begins at `from`. */
function endOfCue(tokens: readonly Token[], from: number, room: number): number {
  const startMs = tokens[from]?.startMs ?? 0;
  let line = room;
  let lines = 1;
  let length = 0;
  for (let n = from; n < tokens.length; n += 1) {
    const { text, space, endMs } = tokens[n] as Token;
    const before = tokens[n - 1];
    const columns = columnsOf(text);
    const longer = line === 0 ? columns : line + (n === from ? 0 : space.length) + columns;
    const isNewLine = longer > lineLength;
    if (isNewLine) lines += 1;
    line = isNewLine ? columns : longer;
    if (n > from && before) {
      const isOver = lines > 2 || endMs - startMs > longestMs;
      if (isOver) return breakOf(tokens, from, n);
      const isEnd = endsSentence(before.text) && length >= enough && before.endMs - startMs >= shortestMs;
      if (isEnd || (tokens[n] as Token).startMs - before.endMs > pauseMs) return n;
    }
    length += space.length + columns;
  }
  return tokens.length;
}

/** The best place to break tokens that are too many for a cue: after a sentence, else a clause, else at the last that fits. */
function breakOf(tokens: readonly Token[], from: number, to: number): number {
  const least = from + Math.max(1, Math.ceil((to - from) * leastPart));
  for (const isEnd of [endsSentence, endsClause]) {
    for (let n = to; n >= least; n -= 1) if (isEnd(tokens[n - 1]?.text ?? '')) return n;
  }
  return to;
}

/**
 * Tokens on one line when they fit, else on two that are about equally long, after a clause where one ends near. `room` is
 * taken on the first.
 */
function linesOf(tokens: readonly Token[], room: number): string[] {
  const whole = lineOf(tokens);
  const columns = columnsOf(whole);
  if (room + columns <= lineLength) return [whole];
  let best: [string, string] | undefined;
  let least = Infinity;
  for (let n = 1; n < tokens.length; n += 1) {
    const lines: [string, string] = [lineOf(tokens.slice(0, n)), lineOf(tokens.slice(n))];
    const [first, second] = [room + columnsOf(lines[0]), columnsOf(lines[1])];
    if (first > lineLength || second > lineLength) continue;
    const text = tokens[n - 1]?.text ?? '';
    const bonus = endsSentence(text) || endsClause(text) ? lineLength / 4 : 0;
    const cost = Math.abs(first - second) - bonus;
    if (cost < least) {
      least = cost;
      best = lines;
    }
  }
  return best ?? [whole];
}

const lineOf = (tokens: readonly Token[]): string =>
  tokens.map(({ text, space }, n) => (n === 0 ? text : space + text)).join('');
