// A provider of speech and of vectors that answers at once, or after so many milliseconds (`PUT /delay/<ms>`): a word each
// 400 ms of three speakers, as Deepgram writes them, and vectors of any direction.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const wordEveryMs = 400;
const dimensions = 1_024;
let delayMs = 0;

/** Seconds of a FLAC by its head; a quarter of an hour for anything else. */
function secondsOf(head: Buffer): number {
  if (head.subarray(0, 4).toString('latin1') !== 'fLaC') return 900;
  const rate = head.readUInt32BE(18) >>> 12;
  return ((head[21] as number) & 15) * (2 ** 32 / rate) + head.readUInt32BE(22) / rate;
}

function heard(seconds: number): object {
  const words = Array.from({ length: Math.floor((seconds * 1_000) / wordEveryMs) }, (_, n) => ({
    word: `word${n % 977}`,
    punctuated_word: n % 12 === 11 ? `word${n % 977}.` : `word${n % 977}`,
    start: (n * wordEveryMs) / 1_000,
    end: (n * wordEveryMs + 300) / 1_000,
    confidence: 0.98,
    speaker: Math.floor(n / 25) % 3,
  }));
  return { results: { channels: [{ detected_language: 'en', alternatives: [{ words }] }] } };
}

function vectors(body: Buffer): object {
  const { input } = JSON.parse(body.toString()) as { input: string[] };
  const data = input.map((_, index) => ({
    object: 'embedding',
    index,
    embedding: Array.from({ length: dimensions }, () => Math.random() - 0.5),
  }));
  return { object: 'list', data, model: 'vectors-1', usage: { prompt_tokens: 1, total_tokens: 1 } };
}

const server = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [, ms] = /^\/delay\/(\d+)$/.exec(request.url ?? '') ?? [];
    if (ms !== undefined) delayMs = Number(ms);
    else await delay(delayMs);
    const body = Buffer.concat(chunks);
    const isVectors = request.url?.endsWith('/embeddings') === true;
    const said = ms === undefined ? (isVectors ? vectors(body) : heard(secondsOf(body))) : {};
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
  };
  answer().catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`));
