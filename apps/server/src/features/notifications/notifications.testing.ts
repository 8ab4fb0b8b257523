import assert from 'node:assert/strict';
import {
  createDecipheriv,
  createECDH,
  createHmac,
  createPublicKey,
  hkdfSync,
  randomBytes,
  randomUUID,
  verify,
} from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import type { TrustedCertificate } from '../../testing.tls.ts';
import type { NewNotification } from './index.ts';

/** A browser as a push service and a page see it. */
export function newBrowser() {
  const keys = createECDH('prime256v1');
  keys.generateKeys();
  const auth = randomBytes(16);
  return { keys, auth, json: { p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') } };
}
/** See `newBrowser`. */
export type Browser = ReturnType<typeof newBrowser>;

/** RFC 8188 and 8291, as the browser does it. */
export function decrypt(browser: Browser, body: Buffer): string {
  const salt = body.subarray(0, 16);
  const keyLength = body.readUInt8(20);
  const serverKey = body.subarray(21, 21 + keyLength);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser.keys.getPublicKey(), serverKey]);
  const ikm = Buffer.from(hkdfSync('sha256', browser.keys.computeSecret(serverKey), browser.auth, info, 32));
  const key = Buffer.from(hkdfSync('sha256', ikm, salt, 'Content-Encoding: aes128gcm\0', 16));
  const nonce = Buffer.from(hkdfSync('sha256', ikm, salt, 'Content-Encoding: nonce\0', 12));
  const sealed = body.subarray(21 + keyLength);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2);
  return padded.subarray(0, end).toString();
}

/** RFC 8292: verifies the token of a request and answers its claims and key. */
export function verifyVapid(authorization: string) {
  const [, token = '', key = ''] = /^vapid t=([^,]+), ?k=(\S+)$/.exec(authorization) ?? [];
  const [head = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y } as never, format: 'jwk' });
  const valid = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  assert.ok(valid, 'the signature of the token');
  return { key, claims: JSON.parse(Buffer.from(claims, 'base64url').toString()) };
}

/** A push service, or the receiver of a webhook, on a port of this machine: keeps what it was sent. */
export class TestPushService implements AsyncDisposable {
  readonly pushed: { path: string; headers: Record<string, string>; body: Buffer }[] = [];
  /** Its answers for a path, one after the other; 201 unless set. */
  readonly answers = new Map<string, { status: number; headers?: Record<string, string>; stuck?: true }[]>();
  /** Responses to paths that begin with `/hang`: they are never sent. `/echo` answers the headers of the request. */
  readonly hanging: ServerResponse[] = [];
  /** There once it listens. */
  port = 0;
  #server: Server | undefined;

  /** Answers all that hang. */
  release(): void {
    for (const response of this.hanging.splice(0)) response.writeHead(201).end();
  }

  async listen({ key, cert }: TrustedCertificate): Promise<void> {
    this.#server = createServer({ key, cert }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const path = request.url ?? '';
        this.pushed.push({ path, headers: request.headers as Record<string, string>, body: Buffer.concat(chunks) });
        const { status, headers, stuck = false } = this.answers.get(path)?.shift() ?? { status: 201 };
        if (path.startsWith('/hang')) this.hanging.push(response);
        else if (path.startsWith('/echo')) response.writeHead(status, headers).end(JSON.stringify(request.headers));
        else if (stuck) response.writeHead(status, headers).flushHeaders();
        else response.writeHead(status, headers).end();
      });
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

/** A mail server on a port of this machine, for the user `mailer` with the password `smtp-secret`. */
export class TestMailServer implements AsyncDisposable {
  readonly mails: { to: string[]; from: string; text: string }[] = [];
  /** The code and words with which it refuses mails, and how many of them. */
  refusing: { code: number; times: number; words?: string } | undefined;
  readonly #server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) => {
      if (username === 'mailer' && password === 'smtp-secret') done(null, { user: 'mailer' });
      else done(new Error('no'));
    },
    onData: (stream, { envelope }, done) => {
      void readText(stream).then((text) => {
        if (this.refusing && this.refusing.times-- > 0) {
          return done(Object.assign(new Error(this.refusing.words ?? 'refused'), { responseCode: this.refusing.code }));
        }
        const to = envelope.rcptTo.map(({ address }) => address);
        this.mails.push({ to, from: (envelope.mailFrom as { address: string }).address, text });
        done();
      });
    },
  });

  get url(): string {
    return `smtp://mailer:smtp-secret@127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server.server, 'listening');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A request as the receiver sees it. */
export type Received = TestPushService['pushed'][number];

/** Verifies a request as Standard Webhooks says, by hand; answers which of its signatures the secret made. */
export function verifyWebhook({ headers, body }: Received, secret: string): number {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key);
  mac.update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`);
  const expected = `v1,${mac.update(body).digest('base64')}`;
  return (headers['webhook-signature'] ?? '').split(' ').indexOf(expected);
}

/** Something to tell an account. */
export const told = (account: { id: string }, change: Partial<NewNotification> = {}): NewNotification => ({
  accountId: account.id,
  dedupeKey: randomUUID(),
  type: 'test.told',
  title: 'Title',
  body: 'Body',
  severity: 'info',
  ...change,
});
