import type { WebSocket } from 'ws';

/** What a relay answers in place of a WebSocket; without the envelope it has no words. */
interface RelayRefusal {
  status: number;
  code: string | undefined;
  message: string | undefined;
}

const mostBytes = 4 * 1024;

/** Calls back with a refusal once all of it came, and ends the attempt. */
export function onRefusal(socket: WebSocket, refused: (refusal: RelayRefusal) => void): void {
  socket.once('unexpected-response', (_request, response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      if (text.length < mostBytes) text += chunk;
    });
    response.once('close', () => {
      refused({ status: response.statusCode ?? 0, ...wordsOf(text) });
      socket.terminate();
    });
  });
}

function wordsOf(text: string): Pick<RelayRefusal, 'code' | 'message'> {
  try {
    const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
    return { code, message };
  } catch {
    return { code: undefined, message: undefined };
  }
}
