import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Json } from '../sandboxes/sandboxes.testing.ts';

/** A real client of the protocol: `legacy` speaks the revision of 2025, `auto` the newest. */
export async function connectMcp(gateway: { url: string }, key: string, mode: 'legacy' | 'auto' = 'auto') {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
  const call = async (name: string, input: object = {}, options: { signal?: AbortSignal } = {}) => {
    const called = await client.callTool({ name, arguments: { ...input } }, options);
    const { content, isError } = called;
    const [first] = content as { type: string; text: string }[];
    const text = first?.text ?? '';
    return { text, data: dataOf(text), isError: isError === true };
  };
  return {
    client,
    call,
    /** The code of a call that fails; undefined when it does not. */
    async codeOf(name: string, input: object = {}): Promise<string | undefined> {
      const { text, isError } = await call(name, input);
      return isError ? (JSON.parse(text) as { code: string }).code : undefined;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Of an answer that is JSON. */
function dataOf(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
