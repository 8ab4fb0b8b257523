import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { protocols, secret, SpeechServer } from '../apps/server/src/features/speech/speech.testing.ts';
import { until } from '../apps/server/src/testing.ts';
import { earsOf, spokenIn } from '../apps/server/src/features/transcripts/transcripts.testing.ts';

/** A provider of speech that hears tones, and answers when the test says so. A window is named by its first word. */
export interface Ears extends AsyncDisposable {
  /** The settings of a platform that asks it. */
  readonly settings: Record<string, string>;
  /** Windows, in the order in which they were asked. */
  readonly asked: string[];
  /** Resolves when a window may be answered; replaced by the test. */
  gate: (window: string) => Promise<void> | void;
  /** Resolves when nobody is connected. */
  isLeft(): Promise<void>;
}

/** Starts it. */
export async function openEars(): Promise<Ears> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ears-'));
  const server = await SpeechServer.listen(async (response, got) => {
    // Whether it can be reached at all, as each platform asks of its providers.
    if (!got.audio) {
      response.writeHead(404).end();
      return;
    }
    const words = spokenIn(got.audio);
    const window = words[0]?.text ?? '';
    ears.asked.push(window);
    await ears.gate(window);
    await protocols.deepgram(words, 'en')(response, got);
    // A test keeps only what it counts.
    server.got.length = 0;
  });
  const [providers, key] = ['providers.json', 'key'].map((name) => join(folder, name)) as [string, string];
  writeFileSync(key, secret);
  writeFileSync(providers, JSON.stringify({ speech: [earsOf(server.url, key)] }));
  const ears: Ears = {
    settings: { SVC_PROVIDERS: providers },
    asked: [],
    gate: () => {},
    isLeft: () => until(async () => (await server.connections()) === 0),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return ears;
}
