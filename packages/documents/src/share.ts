import { dutyOf, namesOf } from './content.ts';
import type { SharedDocument } from './document.ts';
import { dayAndTime, directionOf, type Labels, labelsFor, lengthOf, tagOf } from './labels.ts';
import { sharePageStyle } from './share.style.ts';
import { clockOf, oneLine, paragraphsOf, stamp } from './text.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for between tags or in a quoted attribute. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

/** Text of a stranger, which decides its own direction and no other's. */
const isolated = (text: string): string => `<bdi>${escaped(text)}</bdi>`;

/**
 * The page that a share link shows (document 1, Transcripts: public share page): HTML without script and without any
 * request, in the transcript's language, for phone, screen and paper. It says when the link ends.
 */
export function toSharePage(document: SharedDocument): string {
  const labels = labelsFor(document.language, document.locale);
  const title = oneLine(document.title) || labels.untitled;
  const owned = document.actions.map(({ text, owner }) => {
    const duty = dutyOf(owner, null, labels);
    return duty === '' ? { text } : { text, duty };
  });
  const main = [
    part(
      'summary',
      labels,
      labels.summary,
      paragraphsOf(document.summary ?? '')
        .map(paragraph)
        .join('\n'),
    ),
    part('key-points', labels, labels.keyPoints, list(document.keyPoints.map((text) => ({ text })))),
    part('actions', labels, labels.actions, list(owned)),
    part('transcript', labels, labels.transcript, transcript(document) || paragraph(labels.nothingSaid)),
  ];
  return whole(
    document.language,
    labels,
    title,
    `${header(document, labels, title)}
<main>
${main.filter((html) => html !== '').join('\n')}
</main>
${footer(document.expiresAt, labels)}`,
  );
}

/** The page for a link that is unknown, has expired or was revoked: one page, so that it tells nobody which. */
export function sharePageNotFound(language?: string | null): string {
  const labels = labelsFor(language);
  return whole(
    labels.language,
    labels,
    labels.notFoundTitle,
    `<main class="empty">
<h1>${escaped(labels.notFoundTitle)}</h1>
<p>${escaped(labels.notFoundText)}</p>
</main>`,
  );
}

function whole(language: string | null, labels: Labels, title: string, body: string): string {
  const tag = tagOf(language) ?? labels.language;
  return `<!doctype html>
<html lang="${escaped(tag)}" dir="${directionOf(tag)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${sharePageStyle}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** `lang` for words of ours, where the page's language is neither English nor Romanian. */
const ours = ({ language }: Labels): string => ` lang="${language}"`;

function header(document: SharedDocument, labels: Labels, title: string): string {
  const { startedAt, durationMs, speakers } = document;
  const nameOf = namesOf(speakers);
  const names = [...new Set(speakers.map(({ label }) => nameOf(label)))].filter((name) => name !== '');
  const fact = (label: string, html: string): string =>
    html === '' ? '' : `<dt${ours(labels)}>${label}</dt><dd>${html}</dd>\n`;
  return `<header>
<p class="kind"${ours(labels)}>${labels.shared}</p>
<h1>${isolated(title)}</h1>
<dl>
${fact(labels.date, moment(startedAt, labels))}${fact(labels.duration, duration(durationMs, lengthOf(durationMs)))}${fact(labels.speakers, names.map(isolated).join(', '))}</dl>
</header>`;
}

/** An instant; empty for an invalid date. */
const moment = (at: Date, labels: Labels): string =>
  Number.isNaN(at.getTime())
    ? ''
    : `<time datetime="${at.toISOString()}"${ours(labels)} dir="ltr">${escaped(dayAndTime(at, labels))}</time>`;

function duration(ms: number, shown: string): string {
  const { hours, minutes, seconds } = clockOf(ms);
  return `<time datetime="PT${hours}H${minutes}M${seconds}S" dir="ltr">${shown}</time>`;
}

/** A part with its heading; nothing where it would be empty. */
const part = (id: string, labels: Labels, heading: string, html: string): string =>
  html === ''
    ? ''
    : `<section aria-labelledby="${id}">
<h2 id="${id}"${ours(labels)}>${heading}</h2>
${html}
</section>`;

const paragraph = (text: string): string => `<p dir="auto">${escaped(text)}</p>`;

function list(items: readonly { text: string; duty?: string }[]): string {
  const rows = items
    .map(({ text, duty = '' }) => ({ text: oneLine(text), duty }))
    .filter(({ text }) => text !== '')
    .map(
      ({ text, duty }) =>
        `<li><span dir="auto">${escaped(text)}</span>${duty === '' ? '' : ` <span class="owner">${isolated(duty)}</span>`}</li>`,
    );
  return rows.length === 0 ? '' : `<ul>\n${rows.join('\n')}\n</ul>`;
}

/** What was said: one block for as long as one speaker speaks. */
function transcript({ speakers, utterances }: SharedDocument): string {
  const nameOf = namesOf(speakers);
  const html: string[] = [];
  let last: string | undefined;
  for (const { speaker, startMs, text } of utterances) {
    const line = oneLine(text);
    if (line === '') continue;
    if (speaker !== last) {
      if (last !== undefined) html.push('</div>');
      html.push(`<div class="turn">\n<p class="who">${isolated(nameOf(speaker))}</p>`);
      last = speaker;
    }
    html.push(
      `<p class="said">${duration(startMs, `[${stamp(startMs)}]`)} <span dir="auto">${escaped(line)}</span></p>`,
    );
  }
  if (last !== undefined) html.push('</div>');
  return html.join('\n');
}

const footer = (expiresAt: Date | null, labels: Labels): string =>
  expiresAt === null || Number.isNaN(expiresAt.getTime())
    ? ''
    : `<footer${ours(labels)} dir="ltr">
<p>${labels.expires(moment(expiresAt, labels))}</p>
</footer>`;
