/** The providers file has no provider of speech. */
export class NoProvider extends Error {
  override name = 'NoProvider';

  constructor() {
    super(
      'nobody hears recordings here yet: ask who runs this server to set that up (./svc providers add, docs/providers.md), then transcribe it again',
    );
  }
}

/** No provider heard the window. The message names each of them and why; it holds no key and no text of the recording. */
export class SpeechFailed extends Error {
  override name = 'SpeechFailed';
  /** Asking again is of no use before somebody mends the file, the key or the audio. */
  readonly final: boolean;
  /** All that may answer later have too much to do: `retryAfterMs` says when the first of them may be asked again. */
  readonly rateLimited: boolean;
  readonly retryAfterMs: number | undefined;
  /** Each provider found the audio wrong, and neither its key nor its model: it holds no speech, or cannot be read. */
  readonly ofAudio: boolean;

  constructor(message: string, { final, rateLimited, retryAfterMs, ofAudio }: Kind) {
    super(message);
    this.ofAudio = ofAudio;
    this.final = final;
    this.rateLimited = rateLimited;
    this.retryAfterMs = retryAfterMs;
  }
}
type Kind = { final: boolean; rateLimited: boolean; retryAfterMs: number | undefined; ofAudio: boolean };

/** One provider did not hear a window, and another one may. The message holds no key. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure';
  /** Milliseconds for which it is left alone; 0: the fault was the window's. */
  readonly coolMs: number;
  readonly final: boolean;
  readonly rateLimited: boolean;

  constructor(message: string, { coolMs = shortMs, final = false, rateLimited = false }: FailureKind = {}) {
    super(message);
    this.coolMs = coolMs;
    this.final = final;
    this.rateLimited = rateLimited;
  }
}
type FailureKind = { coolMs?: number; final?: boolean; rateLimited?: boolean };

/** After a failure that may be over soon. */
const shortMs = 5_000;
/** After one that somebody has to mend. */
export const longMs = 60_000;
