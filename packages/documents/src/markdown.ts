import { contentOf, type Section } from './content.ts';
import type { TranscriptDocument } from './document.ts';

/** Characters that CommonMark or GitHub's Markdown takes for markup inside a line. */
const inline = /[\\`*_[\]<>&~|$]/g;
/** What makes a line a heading, a list, a rule, a quote or a table when it begins with it. */
const beginning = /^(?:([#+\-=:])|(\d{1,9})([.)]))/;

/** Text as Markdown that shows the same characters. */
const escaped = (text: string): string =>
  text
    .replace(inline, (character) => `\\${character}`)
    .replace(beginning, (_, sign?: string, digits?: string, end?: string) =>
      sign === undefined ? `${digits ?? ''}\\${end ?? ''}` : `\\${sign}`,
    );

/**
 * A transcript as Markdown (document 1, Transcripts: export). What people said and wrote is escaped: none of it becomes
 * markup, HTML, an image or a link with a text of its own. Ends with a line break.
 */
export function toMarkdown(document: TranscriptDocument): string {
  const { labels, title, facts, consent, sections, lines } = contentOf(document);
  const quoted = consent.map((text, at) =>
    at === 0 ? `> **${labels.consent}:** ${escaped(text)}` : `> ${escaped(text)}`,
  );
  const parts = [
    `# ${heading(title)}`,
    facts.map(({ label, value }) => `- **${label}:** ${escaped(value)}`).join('\n'),
    ...(quoted.length === 0 ? [] : [quoted.join('\n>\n')]),
    ...sections.map(sectionMarkdown),
    `## ${labels.transcript}`,
    ...(lines.length === 0 ? [labels.nothingSaid] : []),
    ...lines.map(({ at, speaker, text }) => `**[${at}] ${escaped(speaker)}:** ${escaped(text)}`),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** A heading's trailing number signs would be dropped as its end. */
const heading = (text: string): string =>
  escaped(text).replace(/#+$/, (signs) => signs.replaceAll('#', String.raw`\#`));

function sectionMarkdown({ heading, paragraphs, items }: Section): string {
  const listed = items.map(({ text, note }) => `- ${escaped(text)}${noted(note)}`);
  return [`## ${heading}`, ...paragraphs.map(escaped), ...(listed.length > 0 ? [listed.join('\n')] : [])].join('\n\n');
}

/** A time in brackets stays as it is: there is nothing that it could link to. */
const noted = (note: string): string => (note === '' ? '' : ` ${/^\[[\d:]+\]$/.test(note) ? note : escaped(note)}`);
