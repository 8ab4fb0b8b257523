import type { Protocol } from './protocol.ts';

const prefixes: Readonly<Record<Protocol, string>> = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' };
const known = /^(?:chatcmpl-|msg_|resp_)/;

/** The id of an answer as its client's protocol begins it: clients tell by it what they have. */
export const idAs = (protocol: Protocol, id: string): string =>
  id.startsWith(prefixes[protocol]) ? id : prefixes[protocol] + id.replace(known, '');
