import { randomUUID } from 'node:crypto';
import type { Transporter } from 'nodemailer';
import { redact } from '../../kernel/base/redact.ts';
import { readable } from '../../kernel/base/text.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { findEmail } from '../accounts/index.ts';
import type { DeliveryOutcome } from './notifications.push.ts';
import { cut, mailText } from './notifications.rules.ts';
import type { DeliveryRow } from './notifications.sql.ts';

const connectMs = 10_000;
const idleMs = 20_000;

/** A mail to one address. */
interface Letter {
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string | undefined;
}

/** What nodemailer throws where the server refused, in parts. */
interface Refusal {
  code?: string;
  responseCode?: number;
  response?: string;
}

const mostWords = 200;

/** The words of a mail server, without what it may repeat of how we signed in. */
function answerOf(response: string, smtpUrl: string): string {
  const { username, password } = new URL(smtpUrl);
  const [user, secret] = [username, password].map(decodeURIComponent) as [string, string];
  const inBase64 = [secret, `\0${user}\0${secret}`].map((one) => Buffer.from(one).toString('base64'));
  const masked = [secret, password, ...inBase64]
    .filter(() => secret !== '')
    .reduce((text, one) => text.replaceAll(one, '[redacted]'), response);
  return cut(readable(redact(masked)).replace(/\s+/g, ' ').trim(), mostWords);
}

/** Sends e-mail through the configured server. The message id is that of the row: a repeat is recognised as one. */
export class Mailer {
  readonly #kernel: Kernel;
  #transport: Transporter | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  async send(delivery: DeliveryRow): Promise<DeliveryOutcome> {
    const { mail } = this.#kernel.config;
    const letter = await this.#letterOf(delivery);
    if (!mail || !letter) return { done: false, retry: false, reason: 'there is no mail server or no recipient' };
    try {
      const transport = (this.#transport ??= await open(mail.smtpUrl));
      await transport.sendMail(messageOf(mail.from, letter));
      return { done: true };
    } catch (error) {
      // The server's words may quote the recipient: in the log code and status say enough.
      const { code, responseCode = 0, response } = error as Refusal;
      const reason = `the mail server answered ${code ?? 'an error'} ${responseCode}`;
      const isFinal = responseCode >= 500 && responseCode < 600 && code !== 'EAUTH';
      const said =
        response === undefined
          ? `the mail server gave no answer (${code ?? 'unknown'})`
          : `the mail server answered ${answerOf(response, mail.smtpUrl)}`;
      return { done: false, retry: !isFinal, reason, said, ...(responseCode > 0 && { status: responseCode }) };
    }
  }

  close(): void {
    this.#transport?.close();
  }

  async #letterOf({ notification, mail }: DeliveryRow): Promise<Letter | undefined> {
    if (mail) {
      return { id: mail.id, to: mail.recipient, subject: mail.subject, text: mail.body, html: mail.html ?? undefined };
    }
    const to = notification ? await findEmail(this.#kernel.sql, notification.account_id) : undefined;
    if (!notification || to === undefined) return undefined;
    return {
      id: notification.id,
      to,
      subject: notification.title,
      ...mailText(notification, this.#kernel.config),
    };
  }
}

const messageOf = (from: string, { id, to, subject, text, html }: Letter) => ({
  from,
  // As an object it is one address, whatever it looks like.
  to: { name: '', address: to },
  subject,
  text,
  ...(html !== undefined && { html }),
  messageId: `<${id}@${/@([^\s<>]+?)>?$/.exec(from)?.[1] ?? 'svc'}>`,
  headers: { 'auto-submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
});

/** Mails that may be on their way at once. */
const mostAtOnce = 8;

/**
 * Sends mails that hold a secret, such as a code to sign in: at once, and kept nowhere, so that no copy of the database can be
 * used. One that is not sent is asked for again by its reader.
 */
export class PrivateMails {
  readonly #kernel: Pick<Kernel, 'config'>;
  #transport: Transporter | undefined;
  #underWay = 0;

  constructor(kernel: Pick<Kernel, 'config'>) {
    this.#kernel = kernel;
  }

  /** Rejects when there is no mail server, it refuses the mail, or too many are on their way. */
  async send(to: string, { subject, text }: { subject: string; text: string }): Promise<void> {
    const { mail } = this.#kernel.config;
    if (!mail) throw new Error('there is no mail server');
    if (this.#underWay >= mostAtOnce) throw new Error('too many mails are on their way');
    this.#underWay += 1;
    try {
      const transport = (this.#transport ??= await open(mail.smtpUrl));
      await transport.sendMail(messageOf(mail.from, { id: randomUUID(), to, subject, text, html: undefined }));
    } finally {
      this.#underWay -= 1;
    }
  }

  close(): void {
    this.#transport?.close();
  }
}

/** Loaded on first use only. */
async function open(smtpUrl: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    url: smtpUrl,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: idleMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
