import type { Heard } from '@svc/speech';
import { ConfigError } from '../../config.ts';
import { systemClock } from '../../kernel/base/clock.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import {
  followProviders,
  type ProvidersPlace,
  providersPath,
  readProvidersText,
} from '../../kernel/outside/providers.ts';
import { askOf } from './kinds/kinds.ts';
import type { SpeechWindow } from './kinds/kind.ts';
import { SherpaWorkers } from './kinds/sherpa.ts';
import { longMs, NoProvider, ProviderFailure, SpeechFailed } from './speech.errors.ts';
import { parseSpeech, type SpeechEntry } from './speech.file.ts';

/** The words of a window, who heard them and what it cost. */
export interface SpeechHeard extends Heard {
  /** Id of the entry in the providers file. */
  provider: string;
  model: string;
  /** By the entry's price; 0 when it has none. */
  costMicroUsd: number;
}

/** The parts of the process that providers of speech need. */
type SpeechParts = Pick<Kernel, 'upstream' | 'clock' | 'log' | 'metrics' | 'config' | 'dataDir'>;

/** Why an entry is left alone, and until when, of `clock.monotonic()`. */
interface Cooling {
  until: number;
  failure: ProviderFailure;
}

/**
 * The providers of speech of this process, from the providers file, which is read again when it changes. A window goes to the
 * first that answers. One that failed is left alone for a while: 5 s after a failure that may be over soon, a minute after one
 * that somebody has to mend, after 429 for its `Retry-After`, 10 min at most.
 */
export class SpeechProviders {
  readonly #parts: SpeechParts;
  readonly #workers: SherpaWorkers;
  readonly #count: (of: Record<string, string>) => void;
  readonly #cooling = new Map<string, Cooling>();
  #entries: readonly SpeechEntry[] = [];

  constructor(parts: SpeechParts) {
    this.#parts = parts;
    this.#workers = new SherpaWorkers(parts);
    const labels = ['provider', 'outcome'];
    this.#count = parts.metrics.counter('svc_speech_answers_total', 'Windows of recordings, by provider', labels);
  }

  /** Follows the file; with one that cannot be used those of before go on, and the log says why. Answers how to end it. */
  start(): () => Promise<void> {
    const { clock, log } = this.#parts;
    const cancel = followProviders(this.#parts, (text) => {
      this.#entries = parseSpeech(text, clock);
      for (const { id, key } of this.#entries)
        if (key.fault !== undefined) log.error({ provider: id, reason: key.fault }, 'a provider of speech is off');
    });
    return async () => {
      cancel();
      await this.#workers.stop();
    };
  }

  /** No provider is set up. */
  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /**
   * The words of a window, from the first provider that answers. Throws `NoProvider` when none is set up, `SpeechFailed` when
   * all failed, or the signal's reason.
   */
  async hear(window: SpeechWindow, signal: AbortSignal): Promise<SpeechHeard> {
    if (this.isEmpty) throw new NoProvider();
    const failures: [SpeechEntry, ProviderFailure, number][] = [];
    for (const entry of this.#inOrder()) {
      signal.throwIfAborted();
      const cooling = this.#coolingOf(entry);
      // Asked before its time, a provider that counts requests would count this one too.
      if (cooling?.failure.rateLimited) {
        failures.push([entry, cooling.failure, cooling.until - this.#parts.clock.monotonic()]);
        continue;
      }
      try {
        const heard = await hearBy(entry, window, { ...this.#parts, workers: this.#workers, signal });
        this.#cooling.delete(entry.id);
        this.#count({ provider: entry.id, outcome: 'heard' });
        return heard;
      } catch (error) {
        signal.throwIfAborted();
        const failure = this.#failed(entry, error);
        failures.push([entry, failure, failure.coolMs]);
      }
    }
    throw allFailed(failures);
  }

  /** Those that are not left alone first. */
  #inOrder(): SpeechEntry[] {
    const isCooling = (entry: SpeechEntry): boolean => this.#coolingOf(entry) !== undefined;
    return [...this.#entries.filter((entry) => !isCooling(entry)), ...this.#entries.filter(isCooling)];
  }

  #coolingOf({ id }: SpeechEntry): Cooling | undefined {
    const cooling = this.#cooling.get(id);
    return cooling && cooling.until > this.#parts.clock.monotonic() ? cooling : undefined;
  }

  #failed(entry: SpeechEntry, error: unknown): ProviderFailure {
    const { clock, log } = this.#parts;
    if (!(error instanceof ProviderFailure)) {
      log.error({ err: error, provider: entry.id }, 'a provider of speech broke');
    }
    const failure = error instanceof ProviderFailure ? error : new ProviderFailure('it broke');
    this.#count({ provider: entry.id, outcome: 'failed' });
    log.warn({ provider: entry.id, reason: failure.message }, 'a provider of speech failed');
    if (failure.coolMs > 0) this.#cooling.set(entry.id, { until: clock.monotonic() + failure.coolMs, failure });
    return failure;
  }
}

/** Throws `ConfigError` when the file's providers of speech cannot be used: a start says so. */
export function checkSpeechFile(place: ProvidersPlace): void {
  try {
    parseSpeech(readProvidersText(place), systemClock);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`SVC_PROVIDERS: ${providersPath(place)}: ${code ?? message}`);
  }
}

/** Asks one provider within its time. Throws `ProviderFailure`. */
export async function hearBy(
  entry: SpeechEntry,
  window: SpeechWindow,
  { signal, workers, ...kernel }: Pick<Kernel, 'upstream' | 'clock'> & { signal: AbortSignal; workers: SherpaWorkers },
): Promise<SpeechHeard> {
  const key = await keyOf(entry);
  const ending = new AbortController();
  const cancel = kernel.clock.after(entry.totalMs, () => ending.abort());
  try {
    const asking = { kernel, entry, window, key, workers, signal: AbortSignal.any([signal, ending.signal]) };
    const { model = entry.models[0] ?? entry.kind, ...heard } = await askOf[entry.kind](asking);
    const minutes = window.durationMs / 60_000;
    const costMicroUsd = Math.ceil(minutes * (entry.minutePrice ?? 0) * 1_000_000);
    return { ...heard, provider: entry.id, model, costMicroUsd };
  } catch (error) {
    if (ending.signal.aborted && !signal.aborted) {
      throw new ProviderFailure(`the answer took over ${entry.totalMs / 1_000} s`);
    }
    throw error;
  } finally {
    cancel();
  }
}

async function keyOf({ key }: SpeechEntry): Promise<string | undefined> {
  try {
    return await key.read();
  } catch (error) {
    throw new ProviderFailure(`it is off: ${(error as Error).message}`, { coolMs: longMs, final: true });
  }
}

/** One error for all: final when each is, limited when each that may answer later is. */
function allFailed(failures: readonly [SpeechEntry, ProviderFailure, number][]): SpeechFailed {
  const open = failures.filter(([, { final }]) => !final);
  const rateLimited = open.length > 0 && open.every(([, failure]) => failure.rateLimited);
  const waits = open.flatMap(([, failure, ms]) => (failure.rateLimited ? [ms] : []));
  return new SpeechFailed(failures.map(([{ id }, { message }]) => `${id}: ${message}`).join('; '), {
    final: open.length === 0,
    ofAudio: failures.every(([, { final, coolMs }]) => final && coolMs === 0),
    rateLimited,
    retryAfterMs: rateLimited ? Math.max(0, Math.ceil(Math.min(...waits))) : undefined,
  });
}
