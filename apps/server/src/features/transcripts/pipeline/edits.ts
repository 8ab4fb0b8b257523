import type { AssembledSpeaker, AssembledUtterance } from '@svc/speech';
import type { SpeakerRow, UtteranceRow } from '../transcripts.rows.ts';

/** How far an utterance may have moved and still be the one that was corrected. */
const movedMs = 1_000;

/** Utterances as they are stored, with the corrections of before that still fit. */
interface Kept {
  utterances: UtteranceRow[];
  /** Corrections whose utterance is not heard any more as it was. */
  lost: number;
}

/** Keeps a person's corrections of utterances whose text is heard again at the same time. */
export function keepEdits(before: readonly UtteranceRow[], now: readonly AssembledUtterance[]): Kept {
  const rows = now.map(toRow);
  const labels = sameSpeakers(before, now);
  let lost = 0;
  for (const old of before.filter(({ edited_at: at, heard_speaker: heard }) => at !== null || heard !== null)) {
    const heard = old.original_text ?? old.text;
    const place = rows.findIndex(
      (row) =>
        row.edited_at === null &&
        row.heard_speaker === null &&
        Math.abs(row.start_ms - old.start_ms) <= movedMs &&
        (row.original_text ?? row.text) === heard,
    );
    const row = rows[place];
    const speaker = old.heard_speaker === null ? row?.speaker : labels.get(old.speaker);
    if (!row || speaker === undefined) lost += 1;
    else
      rows[place] = {
        ...row,
        ...(old.edited_at !== null && { text: old.text, original_text: heard, edited_at: old.edited_at }),
        speaker,
        heard_speaker: speaker === row.speaker ? null : row.speaker,
      };
  }
  return { utterances: rows, lost };
}

const toRow = (one: AssembledUtterance): UtteranceRow => ({
  seq: one.seq,
  speaker: one.speaker,
  heard_speaker: null,
  track: one.track,
  start_ms: one.startMs,
  end_ms: one.endMs,
  text: one.text,
  original_text: one.originalText,
  edited_at: null,
  confidence: one.confidence,
  language: one.language,
});

/** New labels by old ones: who speaks now for most of the time in which the old one was heard. */
function sameSpeakers(before: readonly UtteranceRow[], now: readonly AssembledUtterance[]): Map<string, string> {
  const heard = before.map((row) => ({ ...row, speaker: row.heard_speaker ?? row.speaker }));
  const best = new Map<string, { label: string; ms: number }>();
  for (const [key, ms] of overlaps(heard, now)) {
    const [old = '', label = ''] = key.split(' ');
    if (ms > (best.get(old)?.ms ?? 0)) best.set(old, { label, ms });
  }
  return new Map([...best].map(([old, { label }]) => [old, label]));
}

/** Keeps names of speakers: a new one gets the name of who spoke at most of its time before. */
export function keepNames(
  named: readonly SpeakerRow[],
  before: readonly UtteranceRow[],
  now: readonly AssembledUtterance[],
  speakers: readonly AssembledSpeaker[],
): SpeakerRow[] {
  const shared = overlaps(before, now);
  const taken = new Set<string>();
  return speakers.map(({ label, isSelf, talkMs, utteranceCount }) => {
    const [best] = named
      .filter((one) => (one.name !== null || one.is_self) && !taken.has(one.label))
      .map((one) => ({ one, ms: shared.get(`${one.label} ${label}`) ?? 0 }))
      .filter(({ ms }) => ms * 2 > talkMs)
      .sort((a, b) => b.ms - a.ms);
    if (best) taken.add(best.one.label);
    return {
      label,
      name: best?.one.name ?? null,
      is_self: isSelf || best?.one.is_self === true,
      talk_ms: talkMs,
      utterance_count: utteranceCount,
    };
  });
}

/** Milliseconds for which an old and a new speaker speak at the same time, by `<old> <new>`. */
function overlaps(before: readonly UtteranceRow[], now: readonly AssembledUtterance[]): Map<string, number> {
  const shared = new Map<string, number>();
  const sorted = before.toSorted((a, b) => a.start_ms - b.start_ms);
  const longest = Math.max(0, ...sorted.map(({ start_ms: start, end_ms: end }) => end - start));
  let from = 0;
  for (const one of now.toSorted((a, b) => a.startMs - b.startMs)) {
    while (from < sorted.length && (sorted[from] as UtteranceRow).start_ms + longest <= one.startMs) from += 1;
    for (let at = from; at < sorted.length && (sorted[at] as UtteranceRow).start_ms < one.endMs; at += 1) {
      const old = sorted[at] as UtteranceRow;
      const ms = Math.min(old.end_ms, one.endMs) - Math.max(old.start_ms, one.startMs);
      const key = `${old.speaker} ${one.speaker}`;
      if (ms > 0) shared.set(key, (shared.get(key) ?? 0) + ms);
    }
  }
  return shared;
}
