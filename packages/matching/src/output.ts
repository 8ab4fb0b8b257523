import { isPast } from './dates.ts';
import type { Ignored } from './ignored.ts';

/**
 * What differs from run to run though nothing changed: times, durations, ids, process numbers, rates, progress. Outputs
 * whose lines normalise alike are no change (document 2, `notify`). Each pattern is bounded, so that no line takes long.
 */

const version = '2';

/** A hash of an output with the way in which it was normalised: hashes of two ways say nothing of each other. */
export const hashText = (hash: string, ignored: Ignored | undefined): string =>
  `${version}${ignored === undefined ? '' : `+${ignored.id}`}:${hash}`;

// oxlint-disable-next-line no-control-regex -- colours begin with ESC
const escapes = /\u001b(?:\[[0-9;:?]{0,64}[ -/]{0,8}[@-~]|\][^\u0007\u001b]{0,512}(?:\u0007|\u001b\\)|[@-Z\\^_])/g;
const blanks = /[\u00a0\u2000-\u200b\u202f\u205f\u3000\ufeff]/g;

const weekday =
  '(?:(?:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mie|joi|vin|sâm|dum|mer|jeu|ven|sam|dim)[a-zé]{0,8}\\.?,?\\s{1,2})?';
const clock = '\\d{1,2}:\\d{2}(?::\\d{2}(?:[.,]\\d{1,9})?)?(?:\\s?[ap]\\.?m\\b\\.?)?';
const zone =
  '(?:\\s?(?:Z|[+-]\\d{2}:?\\d{2}|(?:UTC|GMT|[CEWM]?[EW]?S?T|CES?T|EES?T|BST|[ECMP][SD]T)(?:[+-]\\d{1,2})?)\\b)?';
const at = '(?:,|\\s{1,2}(?:at|um|la|à|on|@|ora|-)\\s|[T _])?';
const month =
  '(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|sept|oct|okt|oct|nov|noi|dec|dez|ian|iun|iul|janv|févr|fevr|mars|avr|juin|juil|août|aout|déc)[a-zéûä]{0,8}\\.?';
const maybeClock = `(?:${at}\\s{0,3}${clock}(?:\\s(?:Uhr|h|ore))?${zone})?`;

/** Dates, with or without a time; those that are to come say something, as when a certificate ends. */
const dates = new RegExp(
  [
    `${weekday}\\b\\d{4}-\\d{2}-\\d{2}${maybeClock}`,
    `\\b20\\d{2}[01]\\d[0-3]\\d[T_-]?[0-2]\\d[0-5]\\d[0-5]\\d${zone}(?![\\d.])`,
    `${weekday}\\b\\d{4}[/:]\\d{2}[/:]\\d{2}(?![:.]?\\d)${maybeClock}`,
    `${weekday}\\b\\d{1,2}[./]\\d{1,2}[./]\\d{4}\\b${maybeClock}`,
    `${weekday}\\b\\d{1,2}\\.?[ -]${month}[ -]\\d{4}\\b${maybeClock}`,
    `${weekday}\\b${month}\\s{1,2}\\d{1,2}(?:st|nd|rd|th)?,?\\s{1,2}(?:\\d{4}\\b${maybeClock}|${clock}${zone}(?:\\s\\d{4}\\b)?)`,
    `${weekday}\\b\\d{1,2}\\.?\\s${month}\\s${clock}${zone}(?:\\s\\d{4}\\b)?`,
  ].join('|'),
  'giu',
);

const unit =
  '(?:ms|µs|μs|us|ns|s|secs?|seconds?|Sekunden?|secondes?|secunde|m|mins?|minutes?|Minuten?|minute|h|hrs?|hours?|Stunden?|heures?|ore|d|days?|Tagen?|jours?|zile|w|weeks?|Wochen?|semaines?|săptămâni|months?|Monaten?|mois|luni|y|years?|Jahren?|ans?|ani)';
const number = '\\d{1,12}(?:[.,]\\d{1,9})?';
const spans = `${number}\\s?${unit}(?:,?\\s?${number}\\s?${unit}){0,6}(?!\\p{L})`;
const about = '(?:(?:about|almost|over|less than|etwa|ca\\.|circa|environ)\\s)?';
const some = `${about}(?:(?:an?|one|eine[rmn]?|une?|o|un)\\s${unit}(?!\\p{L})|(?:(?:a\\s)?few|einigen|câteva|quelques)\\s${unit}(?!\\p{L})|${spans})`;

const ago = '<ago>';
const duration = '<duration>';

/** In this order: what is found first is not looked at again. */
const rules: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>'],
  [/\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g, '<id>'],
  [/\b0x[0-9a-f]{4,16}\b/gi, '<address>'],
  [
    /\b((?:nonce|csrf[\w-]{0,20}|authenticity_token|_token)["']?\s?(?:content|value)?\s?[=:]\s?["'])[^"']{1,256}/gi,
    '$1<token>',
  ],
  [
    /((?:session|request|trace|span|correlation|transaction|invocation|req)[\s_-]?(?:id)?["']?\s?[:=#]?\s?["']?)(?=[0-9a-z-]{0,40}\d)[0-9a-z][0-9a-z-]{5,63}/gi,
    '$1<id>',
  ],
  [/(\/(?:tmp|var\/folders)\/)[\w.-]{0,40}[.\-_]?[A-Za-z0-9]{6,40}(?=\/|\b)/g, '$1<name>'],
  [
    /(?<![\w-])(?=[\w-]{0,20}\d)(?=[\w-]{0,20}[a-z])(?=[\w-]{0,20}[A-Z])(?![\w-]{0,20}[_-]{2})[\w-]{21}(?![\w-])/g,
    '<id>',
  ],
  [
    /(["']?\b\w{0,24}(?:took|elapsed|duration|latency|uptime|response_?time|took_?in)\w{0,16}["']?\s?[:=]\s?["']?)\d[\d.,]{0,24}(?![\d.,]|\s?%)(?:\s?(?:ms|s|sec|min|h)\b)?/gi,
    `$1${duration}`,
  ],
  [/(["']?\b(?:pid|goroutines|nthreads|load_?avg|heap_?\w{0,16})["']?\s{0,2}[:=]\s?)\d{1,20}/gi, '$1<n>'],
  [/(\b(?:random(?:ly|i[sz]ed)?|shuffled?)?(?:\s(?:with|order))?\s?seed[ :=]{1,3})\d{1,20}/gi, '$1<n>'],
  [
    /((?:\bvizitatori|\bvisitors?|\bbesucher|\bvisiteurs|\bviews|\bafișări|\baufrufe)[^\d\n|]{1,20})[\d.,]{1,20}/giu,
    '$1<n>',
  ],
  [/(?<=[\w-]thread-)\d{1,12}\b/gi, '<n>'],
  [/(["'](?:host|context|event|message|request|trace)_?id["']\s?:\s?["'])[^"']{8,256}/gi, '$1<id>'],
  [/(["']context["']\s?:\s?\{\s?["']id["']\s?:\s?["'])[^"']{8,64}/gi, '$1<id>'],
  // Nobody sees them.
  [/<!--[^\n]{0,400}?-->/g, ''],
  [/^(age:\s?)\d{1,12}$/i, `$1${duration}`],
  [/^(set-cookie:\s?[^=\s]{1,80}=)[^;]{1,4096}/i, '$1<value>'],
  [/(?<=\bthread '[^']{1,80}' \()\d{1,12}(?=\))/g, '<id>'],
  [/(?<=->>HEADER<<-.{1,80}\bid: )\d{1,5}/g, '<id>'],
  [/^(\S{1,255}\.\s{1,40})\d{1,10}(?=\s{1,8}IN\s)/, `$1${duration}`],
  [/(?<=\/(?:avg|mdev|stddev)[\w/]{0,40} = )[\d./]{3,80}/g, duration],
  [/^(?=.{0,400}\d[kKMGT]?i?B \/ \d).{1,400}/, '<use>'],
  [/\b(load averages?:\s{0,2})[\d.,\s]{3,60}/gi, '$1<load>'],
  [/^(%?Cpu\(s\):|[KMG]iB (?:Mem|Swap)\s?:)[^\n]{0,300}/, '$1 <use>'],
  [/\b(Memory:\s)[\d.]{1,12}[BKMGT](?=\s|$)/g, '$1<use>'],
  [/(\bPower_On_Hours\b.{0,120}?)\d{1,12}(?=\s{0,9}$)/, `$1${duration}`],
  [
    /\b((?:run|build|job|pipeline|execution|exécution|rulare[a]?|lauf|prüflauf|durchlauf|attempt)(?:\s(?:no\.?|nr\.?|number))?\s{0,2}[#:]?\s?#?)\d{1,12}\b/giu,
    '$1<n>',
  ],
  // Less than a day and more are two: that is how it shows that a machine was started anew.
  [
    /(?<=^(?:\S{0,20}\s{1,3}){0,4})\bup\s{1,3}\d{1,6} (?:days?|weeks?|months?|years?)\b(?:,\s{1,3}(?:\d{1,3}:\d{2}\b|\d{1,4} (?:min|minutes?|hours?|days?|weeks?|months?))){0,5}/i,
    'up <days>',
  ],
  [/\bup\s{1,3}\d{1,3}:\d{2}\b/gi, `up ${duration}`],
  [new RegExp(`\\bup\\s{1,3}${some}(?:\\s(?:ago|left))?`, 'giu'), `up ${duration}`],
  [new RegExp(`(?:\\b(?:vor|acum|il y a|de acum|since)\\s)${some}(?![\\w/])`, 'giu'), ago],
  [new RegExp(`\\b${some}(?=\\s(?:ago|left|old|to go|remaining|passed|elapsed)\\b)`, 'giu'), duration],
  [/\b(VALID: )\d{1,5} days?/g, `$1${duration}`],
  [/\b\d{1,4}:\d{2}:\d{2}(?= to go)/g, duration],
  // The bar of tqdm, and the meter of curl: how far it is stays, and what a program says behind its rate.
  [
    /\[\d{1,3}(?::\d{2}){1,2}(?:<(?:\?|\d{1,3}(?::\d{2}){1,2}))?,\s{1,4}(?:\?|[\d.]{1,16})\s?\p{L}{0,24}\/\p{L}{1,16}/gu,
    '[<progress>',
  ],
  [
    /^(\s{0,2}\d{1,3}(?:\s{1,8}[\d.]{1,6}[kMGTP]?){5})(?:\s{1,8}[\d.]{1,6}[kMGTP]?){2}(?:\s{1,2}[\d:dhm-]{5,9}){3}\s{1,8}[\d.]{1,6}[kMGTP]?$/,
    '$1 <progress>',
  ],
  [/(?<![:\dA-Fa-f])\d{1,3}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?![:\dA-Fa-f])(?:\s?[ap]m\b)?/gi, '<time>'],
  [/(?<![:.\d])\d{1,2}:\d{2}\s?[ap]\.?m\b\.?/gi, '<time>'],
  [
    /(?<=\b(?:at|um|la|à|ora|geprüft|checked|updated|verificat|stand:?|as of|ETA)\s{1,2})\d{1,2}:\d{2}(?![:\d])/giu,
    '<time>',
  ],
  [/(?<=\bin )\d{1,4}:\d{2}(?![:\d])/g, duration],
  [/(?<![\d:])\d{1,5}:\d{2}\.\d{1,9}(?!\d)/g, duration],
  [/^\[\d{1,4}:\d{2}\]/, `[${duration}]`],
  [/(?<=<time> à )\d{1,2}h\d{2}\b/g, '<time>'],
  [/\b[\d.]{1,12}[KMGT]?=[\d.]{1,12}s\b/g, '<rate>'],
  [/(?<=^\[)[\d.]{1,12}[KMG]i?B(?=\/)/, '<use>'],
  [
    /\b[\d.,]{1,24}\s?(?:[kKMGT]?i?B|bytes|[KMGT]|hosts|files|items|rows|req(?:uests)?|ops|it|packets)\/s(?:ec(?:ond)?)?\b/g,
    '<rate>',
  ],
  [/\b[\d.]{1,12}\s?[KMGT]i?B?(?= (?:scanned|issued)\b)/g, '<progress>'],
  [/\b\d{1,3}(?:\.\d{1,4})?% (?=done\b)/g, '<progress> '],
  [new RegExp(`(?<![\\w.,-])${number}\\s?${unit}(?:,?\\s?${number}\\s?${unit}){1,6}(?![\\w/])`, 'gu'), duration],
  [
    /(?<![\w,-])\d{1,12}(?:[.,]\d{1,9})?\s?(?:ms|µs|μs|us|ns|secs?|seconds|second|msecs?|Sekunden|secondes|secunde)(?![\w/])/g,
    duration,
  ],
  [/(?<![\w,-])\d{1,12}[.,]\d{1,9}\s?(?:s|h|min|minutes|hours)(?![\w/])/g, duration],
  [
    /(?<=\b(?:in|took|after|for|within|took:|time:|elapsed|duration:?|dauer:?|durée\s?:?|durata:?)\s{1,12})\d{1,12}\s?(?:s|m|h|mins?|minutes?)(?![\w/])/giu,
    duration,
  ],
  [/(?<=\()\d{1,12}\s?(?:s|m|h|min)(?=\))/g, duration],
  [/(?<=\s{2}|\t)\d{1,6}(?:s|m|h|d|y)(?=\s{2}|\s?$|\t)/g, duration],
  [/(?<=\s)\(cached\)$/, duration],
  [/\b\d{1,6}\.\d{6}\b(?!\.)/g, duration],
  [/(?<=[\w.)-])\[\d{2,8}\](?=[:\s]|$)/g, '[<pid>]'],
  [/\b(pid[ =:#]{1,3})\d{1,8}\b/gi, '$1<pid>'],
  // Where it is all of a line, or begins it, it is what the line is about: a watched file, a branch, an image.
  [/(?<!^|sha\d{1,3}:|md5:)\b(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b/gi, '<id>'],
  [
    /^(?!(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56,128})(?:\s|$))(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b/i,
    '<id>',
  ],
];

/** When a machine was started is what the line is about. */
const bootTime = /\b(?:system |last |letzter )boot\b|\bgestartet seit\b/i;

const yearMs = 366 * 86_400_000;
/** An epoch within a year of now; other numbers of ten digits are bytes. */
const epochs = /(?<![\w.,-])1[5-9]\d{8}(?:\d{3})?(?:\.\d{1,9})?(?![\w-]|,\d{3}\b)/g;
const isLately = (text: string, now: number): boolean => {
  const value = Number(text);
  return Math.abs((value > 1e11 ? value : value * 1_000) - now) < yearMs;
};

/**
 * A line of output at an instant (ms since the epoch) with all blanked that differs from run to run; undefined where
 * its owner ignores all of it.
 */
export function normalizeLine(line: string, now: number, ignored?: Ignored): string | undefined {
  const plain = plainOf(line);
  let text = ignored === undefined ? plain : ignored.leave(plain);
  if (text === undefined) return undefined;
  if (!bootTime.test(text)) text = text.replaceAll(dates, (found) => (isPast(found, now) ? '<time>' : found));
  text = text.replaceAll(epochs, (found) => (isLately(found, now) ? '<time>' : found));
  for (const [pattern, by] of rules) text = text.replace(pattern, by);
  return text.trimEnd();
}

/** A line as a terminal shows it, without colours. */
function plainOf(line: string): string {
  const whole = line.replaceAll(escapes, '').replaceAll(blanks, ' ').trimEnd();
  // What a progress bar wrote over.
  return withoutErased(whole.slice(whole.lastIndexOf('\r') + 1));
}

/** Text without what a spinner took back. */
function withoutErased(text: string): string {
  if (!text.includes('\b')) return text;
  const kept: string[] = [];
  for (const sign of text) {
    if (sign === '\b') kept.pop();
    else kept.push(sign);
  }
  return kept.join('');
}

/** Whether two hashes (`<version>:<hash>`, those of the first way without a version) were made in the same way. */
export const isSameWay = (one: string, other: string): boolean => wayOf(one) === wayOf(other);
const wayOf = (hash: string): string => (hash.includes(':') ? hash.slice(0, hash.indexOf(':')) : '1');

const mostChanged = 40;
const mostOfLine = 200;

/**
 * The lines in which two outputs differ, those that went with `-` and those that came with `+`, in their order, of the
 * last 2,000; at most 40 of 200 characters each. Lines that only moved are not told, nor those that are ignored.
 */
export function changedLines(before: string, after: string, now: number, ignored?: Ignored): string[] {
  const [gone, come] = [linesOf(before, now, ignored), linesOf(after, now, ignored)];
  const less = (all: readonly Line[], by: readonly Line[], sign: string): string[] => {
    const count = new Map<string, number>();
    for (const { normal } of by) count.set(normal, (count.get(normal) ?? 0) + 1);
    return all
      .filter(({ normal }) => {
        const left = count.get(normal) ?? 0;
        if (left > 0) count.set(normal, left - 1);
        return left === 0;
      })
      .slice(0, mostChanged / 2)
      .map(({ shown }) => `${sign} ${shown}`);
  };
  return [...less(gone, come, '-'), ...less(come, gone, '+')];
}

interface Line {
  readonly normal: string;
  readonly shown: string;
}

const linesOf = (text: string, now: number, ignored: Ignored | undefined): Line[] =>
  countedOf(text, ignored)
    .slice(-mostNormal)
    .map(({ line, left }) => ({
      normal: normalizeLine(left, now) ?? '',
      shown: plainOf(line).trim().slice(0, mostOfLine).toWellFormed(),
    }))
    .filter(({ normal }) => normal !== '');

/** Lines that count, and what of each does: an ignored one moves no border of what is normalised when it comes or goes. */
const countedOf = (text: string, ignored: Ignored | undefined): { line: string; left: string }[] =>
  text.split('\n').flatMap((line) => {
    const left = ignored === undefined ? line : ignored.leave(plainOf(line));
    return left === undefined ? [] : [{ line, left }];
  });

/** Lines at the end of an output that are normalised: 32,000 short ones took 0.3 s of the gateway. */
const mostNormal = 2_000;

/** All lines of an output, without empty ones at its ends; of more than 2,000 lines the first ones as they are. */
export const normalizeOutput = (text: string, now: number, ignored?: Ignored): string =>
  countedOf(text, ignored)
    .map(({ left }, at, all) => (all.length - at > mostNormal ? left : normalizeLine(left, now)))
    .join('\n')
    .trim();
