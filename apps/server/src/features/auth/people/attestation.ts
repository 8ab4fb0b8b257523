import type { RegistrationResponseJSON } from '@simplewebauthn/server';

/** CBOR of a text of less than 24 bytes. */
const text = (value: string): Buffer => Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);

/** CBOR of up to 65,535 bytes. */
const bytes = (value: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([0x59, value.length >> 8, value.length & 0xff]), value]);

/** Bytes of an authenticator: data of a key, seldom over 500. */
const mostBytes = 8_192;

/**
 * The answer without what its authenticator says of itself: no maker of passkeys is asked for, and the library would fetch lists
 * of revoked certificates from addresses that stand in it. Throws for what is no attestation object.
 */
export async function withoutAttestation(answer: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const object = decodeAttestationObject(new Uint8Array(Buffer.from(answer.response.attestationObject, 'base64url')));
  const data: unknown = object.get('authData');
  if (!(data instanceof Uint8Array) || data.length > mostBytes) throw new Error('no data of an authenticator');
  const plain = Buffer.concat([
    Buffer.from([0xa3]),
    text('fmt'),
    text('none'),
    text('attStmt'),
    Buffer.from([0xa0]),
    text('authData'),
    bytes(data),
  ]);
  return { ...answer, response: { ...answer.response, attestationObject: plain.toString('base64url') } };
}
