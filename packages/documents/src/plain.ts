import { contentOf, type Section } from './content.ts';
import type { TranscriptDocument } from './document.ts';

/** A transcript as plain text (document 1, Transcripts: export). Ends with a line break. */
export function toText(document: TranscriptDocument): string {
  const { labels, title, facts, consent, sections, lines } = contentOf(document);
  const spoken = lines.map(({ at, speaker, text }) => `[${at}] ${speaker}: ${text}`);
  const parts = [
    underlined(title, '='),
    facts.map(({ label, value }) => `${label}: ${value}`).join('\n'),
    ...consent.map((text, at) => (at === 0 ? `${labels.consent}: ${text}` : text)),
    ...sections.map(sectionText),
    underlined(labels.transcript, '-'),
    spoken.length === 0 ? labels.nothingSaid : spoken.join('\n'),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** A heading and a line below it that is as long, within a usual terminal. */
const underlined = (text: string, with_: string): string =>
  `${text}\n${with_.repeat(Math.min(Math.max(text.length, 3), 80))}`;

function sectionText({ heading, paragraphs, items }: Section): string {
  const listed = items.map(({ text, note }) => `- ${[text, note].filter((part) => part !== '').join(' ')}`);
  return [underlined(heading, '-'), ...paragraphs, ...(listed.length > 0 ? [listed.join('\n')] : [])].join('\n\n');
}
