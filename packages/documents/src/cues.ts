import { withLead } from '@svc/speech';
import type { DocumentCue } from './document.ts';
import { clean, clockOf, oneLine, padded } from './text.ts';

/** Shown as nothing, and breaks what a player would take for a tag. */
const joiner = '\u2060';

/** A cue that has text: no blank lines, which would end it early, and an end after its start. */
interface Ready {
  startMs: number;
  endMs: number;
  lines: string[];
  name: string;
}

function readyCues(cues: readonly DocumentCue[], nameOf: (label: string) => string): Ready[] {
  return cues
    .map(({ startMs, endMs, lines, speaker }) => ({
      startMs,
      endMs: Math.max(endMs, startMs + 1),
      lines: lines
        .flatMap((line) => clean(line).split('\n'))
        .map((line) => oneLine(line))
        .filter((line) => line !== ''),
      name: oneLine(nameOf(speaker)),
    }))
    .filter(({ lines }) => lines.length > 0);
}

function time(ms: number, point: string): string {
  const { hours, minutes, seconds, rest } = clockOf(ms);
  return `${padded(hours)}:${padded(minutes)}:${padded(seconds)}${point}${padded(rest, 3)}`;
}

/** What stands before what somebody says in SubRip, which has no voices. */
export const leadOf = (name: string): string => (name === '' ? '' : `${oneLine(name)}:`);

/**
 * Subtitles as SubRip (document 1, Transcripts: export). `nameOf` says what a speaker's label stands for; the name
 * stands before the text when the speaker changes. SubRip has no escapes: an invisible joiner breaks what players take
 * for tags and for the arrow of a time.
 */
export function toSrt(cues: readonly DocumentCue[], nameOf: (label: string) => string): string {
  let last = '';
  const blocks = readyCues(cues, nameOf).map(({ startMs, endMs, lines, name }, at) => {
    const lead = name === last ? '' : leadOf(name);
    last = name;
    const text = plainCue(withLead(lead, lines).join('\n'));
    return `${at + 1}\n${time(startMs, ',')} --> ${time(endMs, ',')}\n${text}\n`;
  });
  return blocks.join('\n');
}

const plainCue = (text: string): string =>
  text
    .replaceAll('-->', `--${joiner}>`)
    .replace(/<(?=[a-z/!])/gi, `<${joiner}`)
    .replaceAll('{\\', `{${joiner}\\`);

/** Subtitles as WebVTT, each with its speaker as `<v Name>` and with all text escaped (document 1, Transcripts: export). */
export function toVtt(cues: readonly DocumentCue[], nameOf: (label: string) => string): string {
  const blocks = readyCues(cues, nameOf).map(({ startMs, endMs, lines, name }) => {
    const voice = name === '' ? '' : `<v ${voiced(name)}>`;
    return `${time(startMs, '.')} --> ${time(endMs, '.')}\n${voice}${voiced(lines.join('\n'))}\n`;
  });
  return ['WEBVTT\n', ...blocks].join('\n');
}

const voiced = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
