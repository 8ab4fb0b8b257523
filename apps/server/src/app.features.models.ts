import { audioFeature } from './features/audio/feature.ts';
import { tokensFeature } from './features/tokens/feature.ts';
import { chatFeature } from './features/chat/feature.ts';
import { agentFeature } from './features/agent/feature.ts';
import { Agent } from './features/agent/index.ts';
import { messagesFeature } from './features/messages/feature.ts';
import { responsesFeature } from './features/responses/feature.ts';
import { embeddingsFeature } from './features/embeddings/feature.ts';
import { modelsFeature } from './features/models/feature.ts';
import { receiptFeature } from './features/receipt/feature.ts';
import { inferenceFeature } from './features/inference/feature.ts';
import { Inference } from './features/inference/index.ts';
import type { KeyLookup, Spending } from './features/keys/index.ts';
import { promptsFeature } from './features/prompts/feature.ts';
import { Prompts } from './features/prompts/index.ts';
import { realtimeFeature } from './features/realtime/feature.ts';
import { Sandboxes } from './features/sandboxes/index.ts';
import { sessionsFeature } from './features/sessions/feature.ts';
import { Sessions } from './features/sessions/index.ts';
import { Transcripts, TranscriptsReader } from './features/transcripts/index.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Feature } from './kernel/feature.ts';

/** Sessions that devices share, and the prompts that are found in them. */
function sessionFeatures(
  kernel: Kernel,
  inference: Inference,
  lookup: KeyLookup,
): { sessions: Feature; prompts: Feature; book: Prompts } {
  const sessions = new Sessions(kernel);
  const prompts = new Prompts(kernel, sessions);
  return {
    sessions: sessionsFeature(kernel, sessions, {
      turn: (tx, turn) => prompts.onTurn(tx, turn),
      control: (tx, control) => prompts.onControl(tx, control),
      gone: (tx, sessionId) => prompts.onGone(tx, sessionId),
    }),
    prompts: promptsFeature(kernel, prompts, { sessions, inference, lookup }),
    book: prompts,
  };
}

/** The features that ask models, and those behind them. */
export function modelFeatures(
  kernel: Kernel,
  { spending, lookup }: { spending: Spending; lookup: KeyLookup },
  { sandboxes, store }: { sandboxes: Sandboxes; store: Transcripts },
) {
  const inference = new Inference(kernel, spending);
  const agent = new Agent(kernel, inference, { sandboxes, recordings: new TranscriptsReader(kernel, store) });
  const { sessions, prompts, book } = sessionFeatures(kernel, inference, lookup);
  const features: Feature[] = [
    inferenceFeature(inference),
    modelsFeature(inference),
    agentFeature,
    chatFeature(agent),
    messagesFeature(agent, inference),
    responsesFeature(inference),
    embeddingsFeature(inference),
    audioFeature(inference),
    realtimeFeature(kernel, inference),
    receiptFeature,
    tokensFeature,
    sessions,
    prompts,
  ];
  return { agent, prompts, inference, book, features };
}
