import { SvcError } from './error.ts';

/** One named SSE frame with its JSON payload. */
interface ServerEvent {
  event: string;
  data: unknown;
}

/**
 * Parses an SSE byte stream into named events; what has no name is left out. Comments (the `: ping` heartbeats) call
 * `onActivity` only, as does every other chunk, so that a caller can notice a silent connection.
 */
export async function* parseEvents(
  body: ReadableStream<Uint8Array>,
  onActivity?: () => void,
): AsyncGenerator<ServerEvent> {
  for await (const { event, data } of parse(body, onActivity)) {
    if (event !== '') yield { event, data: data === '' ? undefined : (JSON.parse(data) as unknown) };
  }
}

/** Parses an SSE byte stream whose frames are `data:` alone. */
export async function* parseData<T>(body: ReadableStream<Uint8Array>, onActivity?: () => void): AsyncGenerator<T> {
  for await (const { data } of parse(body, onActivity)) if (data !== '') yield JSON.parse(data) as T;
}

/** Longer than any frame of the gateway: a body without ends of lines does not fill the memory. */
const mostBytes = 32 * 1024 * 1024;

async function* parse(body: ReadableStream<Uint8Array>, onActivity?: () => void) {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let event = '';
  let data = '';
  let length = 0;
  for await (const chunk of chunksOf(body)) {
    onActivity?.();
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    // A 12 MB frame arrives in hundreds of chunks: the unfinished line is joined once, not grown per chunk.
    pieces.push(lines.shift() ?? '');
    length += chunk.length;
    if (length > mostBytes) throw new SvcError({ status: 0, code: 'unknown', message: 'a frame has no end' });
    for (const next of lines) {
      const line = pieces.join('').replace(/\r$/, '');
      pieces = [next];
      if (line === '') {
        length = 0;
        yield { event, data };
        event = '';
        data = '';
      } else if (line.startsWith('event:')) {
        event = line.slice(6).trim();
      } else if (line.startsWith('data:')) {
        data += line.slice(5).trimStart();
      }
    }
  }
}

/** The chunks of a stream; not every browser iterates it by itself. A caller that stops reading ends it. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // A stream that failed says so by itself.
    await reader.cancel().catch(() => {});
  }
}
