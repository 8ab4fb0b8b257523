import type { contract, RouteOutput } from '@svc/contract';
import type { CommonOptions } from '../config.ts';
import { sendOrStore } from '../outbox.ts';
import { deviceOf, open, promptOf, sayStored } from './shared.ts';

/** Options of `svc prompt add`. */
export interface AddOptions extends CommonOptions {
  to?: string;
  at?: string;
  run?: boolean;
  wait?: boolean;
}

/** `svc prompt add`: keeps a prompt for later. */
export async function addPrompt(words: readonly string[], options: AddOptions): Promise<void> {
  const { client, config, output } = await open(options);
  const body = {
    prompt: await promptOf(words),
    source: 'tool',
    ...(options.at !== undefined && { not_before: options.at }),
    ...(options.run && { auto_run: true }),
    ...(options.to !== undefined && { target_device_id: await deviceOf(client, options.to) }),
  };
  const sending = { operation: 'prompts.create', input: { body }, wait: options.wait === true } as const;
  const sent = await sendOrStore({ client, config, output }, sending);
  if (!sent) return sayStored(output, options);
  const kept = sent.answer as RouteOutput<typeof contract.prompts.create> | undefined;
  if (options.json) return output.json(kept ?? { sent: true });
  output.line(kept?.created === false ? `kept already: ${kept.id}` : `kept${kept ? `: ${kept.id}` : ''}`);
}
