import type { prompt } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import type { Prompts } from '../prompts/index.ts';
import { toPrompt } from '../prompts/index.ts';
import type { Transcripts } from './transcripts.store.ts';

/** A prompt that is kept. */
interface KeptPrompt {
  created: boolean;
  id: string;
  prompt: z.input<typeof prompt>;
}

/** Keeps prompts that insights suggest. */
export class AcceptsPrompts {
  readonly #transcripts: Transcripts;
  readonly #prompts: Prompts;

  constructor(transcripts: Transcripts, prompts: Prompts) {
    this.#transcripts = transcripts;
    this.#prompts = prompts;
  }

  /** Keeps the suggestion as a prompt with the source `transcript`; a second time it is the same prompt. Undefined: there is none. */
  async accept(
    tx: Db,
    { accountId, keyId, id, index }: { accountId: string; keyId: string; id: string; index: number },
  ): Promise<KeptPrompt | undefined> {
    const row = await this.#transcripts.lock(tx, accountId, id);
    const { insights } = row;
    const suggested = insights?.prompts.find((one) => one.index === index);
    if (!insights || !suggested) return undefined;
    const { created, row: kept } = await this.#prompts.create(tx, accountId, {
      prompt: suggested.prompt,
      source: 'transcript',
      keyId,
    });
    const prompts = insights.prompts.map((one) =>
      one.index === index ? { ...one, accepted_prompt_id: kept.id } : one,
    );
    await this.#transcripts.change(tx, row, { insights: { ...insights, prompts } });
    return { created, id: kept.id, prompt: toPrompt(kept) };
  }
}
