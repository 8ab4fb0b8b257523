import { setTimeout as delay } from 'node:timers/promises';
import { toneRecording, toneWords } from '../../../apps/server/src/features/transcripts/transcripts.tones.testing.ts';
import { beginUpload } from '../../../apps/server/src/features/uploads/uploads.testing.ts';
import type { House } from './house.ts';

const soundMs = 3_000;
const sound = toneRecording(toneWords({ durationMs: soundMs }), soundMs);
const said = 'Ana sends the draft on Friday. Dan pays the hotel.';
/** Recordings that the household keeps. */
const kept = 5;
const mostLooks = 5_000;

/** The household's meetings: no provider of speech is there, so live captions become their transcripts. */
export class Meetings {
  readonly #house: House;
  readonly #ids: string[] = [];
  held = 0;
  #told = 0;

  constructor(house: House) {
    this.#house = house;
  }

  /** Records one, and deletes the oldest; answers what is wrong with it. */
  async hold(): Promise<string[]> {
    const house = this.#house;
    const body = { client_id: `meeting-${this.held}`, title: `Meeting ${this.held}` };
    const { transcript } = await house.must('POST', '/v1/transcripts', { body });
    const { id } = transcript;
    const upload = await beginUpload(house, house.account, sound);
    const uploads = [{ track: 'mic', upload_id: upload.id }];
    const whole = { duration_ms: soundMs, uploads, preview_text: said };
    await house.must('POST', `/v1/transcripts/${id}/finalize`, { body: whole });
    this.#ids.push(id);
    this.held += 1;
    for (let looks = 1; ; looks++) {
      const { transcript: record } = await house.must('GET', `/v1/transcripts/${id}`);
      if (record.status === 'ready' && record.processing === null && record.degraded.includes('transcription')) {
        const text = record.utterances.map((one: { text: string }) => one.text).join(' ');
        this.#told += 1;
        const [oldest] = this.#ids.length > kept ? this.#ids.splice(0, 1) : [];
        if (oldest !== undefined) await house.must('DELETE', `/v1/transcripts/${oldest}`);
        return text === said ? [] : [`meeting ${this.held} has the words: ${text}`];
      }
      if (looks > mostLooks) return [`meeting ${this.held} is ${record.status}: ${record.error ?? record.last_error}`];
      if (looks % 50 === 0) house.clock.advance(1_000);
      await delay(5);
    }
  }

  /** How many of each kind of notification were made since this was asked last. */
  notified(): Map<string, readonly [number, number]> {
    const told = this.#told;
    this.#told = 0;
    return new Map([['transcript.ready', [told, told] as const]]);
  }
}
