import { createHash, createHmac, createSign } from 'node:crypto';

/** Who signs a request to AWS. */
export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

/** A request to AWS: `headers` have lower-case names, and all of them are signed. */
interface AwsRequest {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hex. */
  bodySha256: string;
  region: string;
  service: string;
  /** Milliseconds since the epoch. */
  at: number;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();
/** RFC 3986, which AWS asks for: `encodeURIComponent` leaves five marks as they are. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** The headers that Signature Version 4 adds to a request: its date, its token and its signature. */
export function signAws(request: AwsRequest, credentials: AwsCredentials): Record<string, string> {
  const { method, url, bodySha256, region, service } = request;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const date = new Date(request.at).toISOString().replace(/[-:]|\.\d+/g, '');
  const added = {
    'x-amz-date': date,
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
  };
  const signed = Object.entries({ ...request.headers, host: url.host, ...added })
    .map(([name, value]) => [name, value.trim().replace(/ +/g, ' ')] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const lines = [
    method,
    // Each part is encoded once more: that of a URL is so already, and S3 alone wants it once.
    url.pathname.split('/').map(encoded).join('/'),
    queryOf(url),
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    bodySha256,
  ];
  const scope = [date.slice(0, 8), region, service, 'aws4_request'];
  const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(lines.join('\n'))].join('\n');
  const key = scope.reduce<Buffer | string>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, toSign).toString('hex');
  const credential = `${accessKeyId}/${scope.join('/')}`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...added, authorization };
}

const queryOf = (url: URL): string =>
  [...url.searchParams]
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');

/** A service account of Google, as in the file that Google gives out. */
export interface GoogleAccount {
  email: string;
  keyId: string;
  /** PEM. */
  privateKey: string;
}

const tokenSeconds = 3_600;
const googleScope = 'https://www.googleapis.com/auth/cloud-platform';

/** A token that the account signed itself, good for an hour: Google's services take it as they take one that they gave out. */
export function signGoogle({ email, keyId, privateKey }: GoogleAccount, at: number): string {
  const issued = Math.floor(at / 1_000);
  const head = { alg: 'RS256', typ: 'JWT', kid: keyId };
  const claims = { iss: email, sub: email, scope: googleScope, iat: issued, exp: issued + tokenSeconds };
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
}
