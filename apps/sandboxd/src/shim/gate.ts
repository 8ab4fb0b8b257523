/**
 * The host that a connection names must be the host it was opened to: the server name of a TLS ClientHello, or
 * the Host of a plain HTTP request. Without it an allowed front would lead to whatever lies behind it.
 */
export interface Gate {
  /** The bytes that may go on now, empty while more must be seen; undefined: close. */
  pass(bytes: Buffer): Buffer | undefined;
}

const mostHello = 65_536;
const mostHead = 32_768;

/** A gate for one connection to `host`. */
export function createGate(host: string): Gate {
  let held: Buffer = Buffer.alloc(0);
  /** Bytes of an HTTP body that may still pass; undefined until the head was seen; infinite after a good TLS hello. */
  let left: number | undefined;
  return {
    pass(bytes) {
      if (left !== undefined) {
        // One request a connection: what comes after its body could name another host.
        const passed = bytes.subarray(0, left);
        left -= passed.length;
        return passed.length < bytes.length ? undefined : passed;
      }
      held = Buffer.concat([held, bytes]);
      const judged = held[0] === 0x16 ? judgeHello(held, host) : judgeHead(held, host);
      if (judged === 'more') return Buffer.alloc(0);
      if (judged === undefined) return undefined;
      left = judged;
      const whole = held;
      held = Buffer.alloc(0);
      return whole;
    },
  };
}

/** Infinity when a complete ClientHello names `host`. */
function judgeHello(held: Buffer, host: string): number | 'more' | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  while (at + 5 <= held.length) {
    if (held[at] !== 0x16) return undefined;
    const length = held.readUInt16BE(at + 3);
    if (at + 5 + length > held.length) break;
    parts.push(held.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  const hello = Buffer.concat(parts);
  if (hello.length < 4 || hello.length < 4 + hello.readUIntBE(1, 3))
    return held.length > mostHello ? undefined : 'more';
  try {
    return hello[0] === 1 && serverName(hello.subarray(4, 4 + hello.readUIntBE(1, 3))) === host ? Infinity : undefined;
  } catch {
    return undefined;
  }
}

/** The one host name in the body of a ClientHello; throws where it is cut short. */
function serverName(body: Buffer): string | undefined {
  let at = 34;
  at += 1 + body.readUInt8(at);
  at += 2 + body.readUInt16BE(at);
  at += 1 + body.readUInt8(at);
  const end = at + 2 + body.readUInt16BE(at);
  at += 2;
  while (at + 4 <= end) {
    const type = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    if (type === 0) {
      const size = body.readUInt16BE(at + 7);
      // A list of more than the one name has no meaning that two readers share.
      if (body.readUInt8(at + 6) !== 0 || size + 5 !== length || body.readUInt16BE(at + 4) !== size + 3)
        return undefined;
      return body
        .subarray(at + 9, at + 9 + size)
        .toString('latin1')
        .toLowerCase()
        .replace(/\.$/, '');
    }
    at += 4 + length;
  }
  return undefined;
}

/** No control characters: a line feed or a tab alone ends something for some servers. */
const requestLine = /^[A-Z]{1,16} \/[!-~\x80-\xff]* HTTP\/1\.[01]$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*$/;

/** The length of the request's body when its head is complete and names `host`. */
function judgeHead(held: Buffer, host: string): number | 'more' | undefined {
  const end = held.indexOf('\r\n\r\n');
  if (end < 0) return held.length > mostHead ? undefined : 'more';
  const [line, ...rest] = held.subarray(0, end).toString('latin1').split('\r\n');
  if (!requestLine.test(line ?? '')) return undefined;
  const headers = rest.map((text) => headerLine.exec(text));
  if (headers.some((header) => header === null)) return undefined;
  const valuesOf = (name: string): string[] =>
    headers.flatMap((header) => (header?.[1]?.toLowerCase() === name ? [header[2] ?? ''] : []));
  const hosts = valuesOf('host');
  const named = hosts[0]?.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  if (hosts.length !== 1 || named !== host) return undefined;
  const lengths = valuesOf('content-length');
  if (lengths.length > 1 || valuesOf('transfer-encoding').length > 0 || valuesOf('upgrade').length > 0)
    return undefined;
  const length = lengths.length === 0 ? 0 : /^\d{1,12}$/.test(lengths[0] ?? '') ? Number(lengths[0]) : undefined;
  if (length === undefined) return undefined;
  const body = held.length - end - 4;
  return body > length ? undefined : length - body;
}
