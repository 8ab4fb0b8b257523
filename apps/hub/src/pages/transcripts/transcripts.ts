import { api } from '../../api/client.ts';
import type { Tone } from '../../ui/Status.tsx';
import type { Words } from '../../words/words.tsx';

/** A recording as lists have it. */
export type TranscriptRow = Awaited<ReturnType<typeof api.transcripts.list>>['transcripts'][number];
/** A recording with what was said in it. */
export type TranscriptRecord = Awaited<ReturnType<typeof api.transcripts.get>>['transcript'];
export type Utterance = TranscriptRecord['utterances'][number];
export type Speaker = TranscriptRecord['speakers'][number];
export type Bookmark = TranscriptRecord['bookmarks'][number];
export type Insights = NonNullable<TranscriptRecord['insights']>;
export type Folder = Awaited<ReturnType<typeof api.transcripts.listFolders>>['folders'][number];

/** How a state looks. */
export const stateTone: Record<TranscriptRow['status'], Tone> = {
  recording: 'busy',
  queued: 'warn',
  transcribing: 'busy',
  analyzing: 'busy',
  ready: 'good',
  failed: 'bad',
};

/** Answers that a write makes old. */
export const stale = ['transcripts', 'overview'];

/** What a voice is called: its name, or a number. */
export function voiceOf(label: string, name: string | null | undefined, words: Words): string {
  if (name) return name;
  const [, number] = /^S(\d+)$/.exec(label) ?? [];
  return number === undefined ? label : words.transcripts.voice(number);
}

/** Colours that tell voices apart; names do so too. */
const voiceColours = 6;
/** The colour of a voice by its place among the voices. */
export const colourOf = (place: number): string => `voice-${Math.max(0, place) % voiceColours}`;

/** Folders below those that they stand in, each with its depth. A folder whose parent is not there stands at the top. */
function folderTree(folders: readonly Folder[]): (Folder & { depth: number })[] {
  const ids = new Set(folders.map(({ id }) => id));
  const below = Map.groupBy(folders, ({ parent_id: parent }) => (parent !== null && ids.has(parent) ? parent : ''));
  const rows: (Folder & { depth: number })[] = [];
  const visit = (parent: string, depth: number): void => {
    const children = [...(below.get(parent) ?? [])].sort(
      (one, other) => one.position - other.position || one.name.localeCompare(other.name),
    );
    for (const child of children) {
      rows.push({ ...child, depth });
      visit(child.id, depth + 1);
    }
  };
  visit('', 0);
  return rows;
}

/** Folders as choices of a select. */
export const folderOptions = (folders: readonly Folder[]): [value: string, label: string][] =>
  folderTree(folders).map(({ id, name, depth }) => [id, `${'– '.repeat(depth)}${name}`]);

/** Where a moment of a recording is opened. */
export const momentPath = (id: string, ms: number, isPlayed = true): string =>
  `/transcripts/${id}?t=${ms}${isPlayed ? '&play=1' : ''}`;
