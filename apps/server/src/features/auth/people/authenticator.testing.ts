import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';

/** CBOR, as far as an authenticator writes it. */
function cbor(value: unknown): Buffer {
  const head = (kind: number, n: number): Buffer =>
    n < 24
      ? Buffer.from([kind + n])
      : n < 256
        ? Buffer.from([kind + 24, n])
        : Buffer.from([kind + 25, n >> 8, n & 0xff]);
  if (typeof value === 'number') return value >= 0 ? head(0x00, value) : head(0x20, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(0x60, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(0x40, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(0x80, value.length), ...value.map(cbor)]);
  const entries = [...(value as Map<unknown, unknown>)];
  return Buffer.concat([head(0xa0, entries.length), ...entries.flatMap(([key, each]) => [cbor(key), cbor(each)])]);
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest();
const base64url = (data: Uint8Array): string => Buffer.from(data).toString('base64url');

const present = 0x01;
const verifiedFlag = 0x04;
const hasKey = 0x40;

/** Faults of an answer, and what else a browser may send. */
interface Unlike {
  origin?: string;
  rpId?: string;
  /** The person only touched it. */
  unverified?: boolean;
  /** The counter stays where it is. */
  counter?: number;
  userHandle?: string;
  challenge?: string;
  /** With what a maker of keys says of itself, as `packed` has it. */
  attested?: boolean;
}

/** An authenticator in software: one key (ES256) that it can find by itself, on a page of `origin`. */
export class Authenticator {
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #origin: string;
  readonly id = randomBytes(32);
  #userHandle = '';
  #counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** The answer of `navigator.credentials.create`. */
  create(options: PublicKeyCredentialCreationOptionsJSON, unlike: Unlike = {}): RegistrationResponseJSON {
    this.#userHandle = options.user.id;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.id.length);
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' }) as { x?: string; y?: string };
    const point = (text: string): Buffer => Buffer.from(text, 'base64url');
    const key = cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, point(x)],
        [-3, point(y)],
      ]),
    );
    const data = Buffer.concat([
      this.#data(options.rp.id ?? '', hasKey, unlike),
      Buffer.alloc(16),
      length,
      this.id,
      key,
    ]);
    const statement = unlike.attested
      ? new Map<string, unknown>([
          ['alg', -7],
          ['sig', randomBytes(70)],
          ['x5c', [randomBytes(400)]],
        ])
      : new Map();
    const object = new Map<string, unknown>([
      ['fmt', unlike.attested ? 'packed' : 'none'],
      ['attStmt', statement],
      ['authData', data],
    ]);
    return {
      id: base64url(this.id),
      rawId: base64url(this.id),
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(this.#client('webauthn.create', options.challenge, unlike)),
        attestationObject: base64url(cbor(object)),
        transports: ['internal', 'hybrid'],
      },
    };
  }

  /** The answer of `navigator.credentials.get`. */
  get(options: PublicKeyCredentialRequestOptionsJSON, unlike: Unlike = {}): AuthenticationResponseJSON {
    const data = this.#data(options.rpId ?? '', 0, unlike);
    const client = this.#client('webauthn.get', options.challenge, unlike);
    const signature = createSign('sha256')
      .update(Buffer.concat([data, sha256(client)]))
      .sign(this.#keys.privateKey);
    return {
      id: base64url(this.id),
      rawId: base64url(this.id),
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(signature),
        userHandle: unlike.userHandle ?? this.#userHandle,
      },
    };
  }

  #data(rpId: string, flags: number, unlike: Unlike): Buffer {
    this.#counter = unlike.counter ?? this.#counter + 1;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.#counter);
    const flag = flags | present | (unlike.unverified ? 0 : verifiedFlag);
    return Buffer.concat([sha256(unlike.rpId ?? rpId), Buffer.from([flag]), counter]);
  }

  #client(type: string, challenge: string, unlike: Unlike): Buffer {
    const origin = unlike.origin ?? this.#origin;
    return Buffer.from(JSON.stringify({ type, challenge: unlike.challenge ?? challenge, origin, crossOrigin: false }));
  }
}
