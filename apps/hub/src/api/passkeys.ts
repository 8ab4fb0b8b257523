type Json = Record<string, unknown>;
/** The parts of WebAuthn level 3 that speak JSON; older browsers lack them. */
interface JsonCredentials {
  parseRequestOptionsFromJSON?: (options: Json) => PublicKeyCredentialRequestOptions;
  parseCreationOptionsFromJSON?: (options: Json) => PublicKeyCredentialCreationOptions;
}
const credentials = (): JsonCredentials | undefined =>
  (globalThis as unknown as { PublicKeyCredential?: JsonCredentials }).PublicKeyCredential;

/** Whether this browser can ask for a passkey here. */
export const hasPasskeys = (): boolean => credentials()?.parseRequestOptionsFromJSON !== undefined;

const toJson = (credential: Credential | null): Json => {
  if (!credential) throw new Error('no passkey was given');
  return (credential as unknown as { toJSON(): Json }).toJSON();
};

/** Asks the person for a passkey that there is. Throws when they decline. */
export async function askPasskey(options: Json): Promise<Json> {
  const publicKey = credentials()?.parseRequestOptionsFromJSON?.(options);
  if (!publicKey) throw new Error('this browser has no passkeys');
  return toJson(await navigator.credentials.get({ publicKey }));
}

/** Makes a new passkey. Throws when the person declines. */
export async function makePasskey(options: Json): Promise<Json> {
  const publicKey = credentials()?.parseCreationOptionsFromJSON?.(options);
  if (!publicKey) throw new Error('this browser has no passkeys');
  return toJson(await navigator.credentials.create({ publicKey }));
}
