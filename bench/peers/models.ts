// A provider of models that answers at once: chat completions whole, or as a stream of the chunks that are asked for. `GET`
// answers when each client left before its stream was over, in milliseconds since 1970.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const whole = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'small-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello, how are you?' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 6, total_tokens: 15 },
});
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'small-1', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const usage = `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: 9, completion_tokens: 6, total_tokens: 15 } })}\n\n`;
const every = Number(process.argv[2] || 20);

const left: number[] = [];

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify(left));
    return;
  }
  let text = '';
  request.on('data', (part: Buffer) => (text += part.toString()));
  request.on('end', () => {
    if (!text.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length }).end(whole);
      return;
    }
    const chunks = Number(/"max_tokens":(\d+)/.exec(text)?.[1] ?? 20);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant', content: '' }));
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      response.write(chunk({ content: `word ${sent} ` }));
      if (sent < chunks) return;
      clearInterval(timer);
      response.end(`${chunk({}, 'stop')}${usage}data: [DONE]\n\n`);
    }, every);
    response.on('close', () => {
      clearInterval(timer);
      if (!response.writableFinished) left.push(performance.timeOrigin + performance.now());
    });
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`));
