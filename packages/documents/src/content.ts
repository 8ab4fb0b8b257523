import type { DocumentInsights, DocumentSpeaker, TranscriptDocument } from './document.ts';
import { dayAndTime, type Labels, labelsFor, lengthOf } from './labels.ts';
import { cutTo, oneLine, paragraphsOf, stamp } from './text.ts';

/** One entry of a list, and what is known of it: where it was said, or whose it is. */
interface Item {
  text: string;
  note: string;
}

/** A part of the document before the transcript. It has paragraphs or items, each on one line. */
export interface Section {
  heading: string;
  paragraphs: readonly string[];
  items: readonly Item[];
}

/** One utterance, `at` as `hh:mm:ss`. */
export interface Line {
  at: string;
  speaker: string;
  text: string;
}

/** What every format of an export says, in its order. All texts are clean and on one line. */
export interface Content {
  labels: Labels;
  title: string;
  facts: readonly { label: string; value: string }[];
  /** What stands at the head if it was given: who consented, how. */
  consent: readonly string[];
  sections: readonly Section[];
  lines: readonly Line[];
}

/** Speakers' names by label; a label that has none names itself. */
export function namesOf(speakers: readonly DocumentSpeaker[]): (label: string) => string {
  const names = new Map(speakers.map(({ label, name }) => [label, oneLine(name ?? '')]));
  return (label) => names.get(label) || oneLine(label);
}

/** What an export contains (document 1, Transcripts: export). */
export function contentOf(document: TranscriptDocument): Content {
  const labels = labelsFor(document.language);
  const nameOf = namesOf(document.speakers);
  const facts = [
    { label: labels.date, value: dayAndTime(document.startedAt, labels, document.timeZone) },
    { label: labels.duration, value: lengthOf(document.durationMs) },
    { label: labels.speakers, value: [...new Set(document.speakers.map(({ label }) => nameOf(label)))].join(', ') },
  ];
  return {
    labels,
    title: oneLine(document.title) || labels.untitled,
    facts: facts.filter(({ value }) => value !== ''),
    consent: paragraphsOf(document.consent ?? ''),
    sections: document.insights === null ? [] : sectionsOf(document.insights, labels),
    lines: document.utterances
      .map(({ startMs, speaker, text }) => ({ at: stamp(startMs), speaker: nameOf(speaker), text: oneLine(text) }))
      .filter(({ text }) => text !== ''),
  };
}

function sectionsOf(insights: DocumentInsights, labels: Labels): Section[] {
  const { keyPoints, actions, decisions = [], openQuestions = [] } = insights;
  const plain = (text: string): Item => ({ text: oneLine(text), note: '' });
  const list = (heading: string, items: Item[]): Section => ({
    heading,
    paragraphs: [],
    items: items.filter(({ text }) => text !== ''),
  });
  const sections = [
    { heading: labels.summary, paragraphs: paragraphsOf(insights.summary), items: [] },
    list(
      labels.keyPoints,
      keyPoints.map(({ text, atMs }) => ({ text: oneLine(text), note: atMs === null ? '' : `[${stamp(atMs)}]` })),
    ),
    list(
      labels.actions,
      actions.map(({ text, owner, due }) => ({ text: oneLine(text), note: dutyOf(owner, due, labels) })),
    ),
    list(labels.decisions, decisions.map(plain)),
    list(labels.openQuestions, openQuestions.map(plain)),
  ];
  return sections.filter(({ paragraphs, items }) => paragraphs.length + items.length > 0);
}

/** Whose an action is and until when, in brackets; empty if neither is known. */
export function dutyOf(owner: string | null, due: string | null, labels: Labels): string {
  const parts = [
    [labels.owner, oneLine(owner ?? '')],
    [labels.due, oneLine(due ?? '')],
  ].filter(([, value]) => value !== '');
  return parts.length === 0 ? '' : `(${parts.map(([label, value]) => `${label}: ${value}`).join('; ')})`;
}

/** A title for the foot of a page: 70 characters of it at most. */
export function shortTitle(title: string): string {
  const cut = cutTo(title, 70);
  return cut === title ? title : `${cut}…`;
}
