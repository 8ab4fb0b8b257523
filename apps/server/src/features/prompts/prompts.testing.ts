import { randomUUID } from 'node:crypto';
import type { TestProvider } from '../inference/inference.testing.ts';
import { streams } from '../inference/inference.testing.ts';
import type { TestDevice } from '../sessions/sessions.testing.ts';

/** Answers each request of a judge with the next of these texts, the last one for ever. */
export function judges(provider: TestProvider, ...answers: string[]): void {
  provider.script = (response, taken) => {
    const text = answers.length > 1 ? answers.shift() : answers[0];
    const said = JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: text } }] });
    const end = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
    return streams(`data: ${said}\n\n`, `data: ${end}\n\ndata: [DONE]\n\n`)(response, taken);
  };
}

/** A verdict as a model gives it. */
export const verdictOf = (verdict: string, more: object = {}): string =>
  JSON.stringify({ verdict, summary: 'What was found.', changed: 'A file.', remaining: '', ...more });

/** Reports a turn of a session as a client does; answers its id. */
export async function reportTurn(
  { ask }: TestDevice,
  sessionId: string,
  text: string,
  { turnId = randomUUID(), ends = true }: { turnId?: string; ends?: boolean } = {},
): Promise<string> {
  const { seq } = (await ask('GET', `/v1/sessions/${sessionId}`)).body;
  const events = [
    { type: 'turn_start', turn_id: turnId, role: 'user', text },
    ...(ends
      ? [
          { type: 'delta', turn_id: turnId, role: 'assistant', text: 'It is done.' },
          { type: 'turn_end', turn_id: turnId },
        ]
      : []),
  ];
  const { status, body } = await ask('POST', `/v1/sessions/${sessionId}/events`, { expected_seq: seq, events });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return turnId;
}
