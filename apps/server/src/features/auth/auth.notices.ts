import { randomUUID } from 'node:crypto';
import type { NewNotification } from '../notifications/index.ts';

/** What happened to how a person signs in. */
export type Notice =
  | { type: 'login.new'; device: string; network: string }
  | { type: 'login.recovered'; network: string }
  | { type: 'connection.added'; app: string; host: string | null }
  | { type: 'passkey.added'; name: string }
  | { type: 'password.changed' };

/** The notification of it. Each is one of its own: two alike within a minute are two events. */
export function noticeOf(accountId: string, notice: Notice): NewNotification {
  const { type } = notice;
  return { accountId, type, severity: 'warning', dedupeKey: `${type}:${randomUUID()}`, ...textOf(notice) };
}

const notYou = 'If this was not you, sign out everywhere and set a new password.';

type TextsOf = { [T in Notice['type']]: (notice: Extract<Notice, { type: T }>) => { title: string; body: string } };

const texts: TextsOf = {
  'login.new': ({ device, network }) => ({
    title: `New sign-in: ${device}`,
    body: `From the network ${network}. ${notYou}`,
  }),
  'login.recovered': ({ network }) => ({
    title: 'Your account was recovered',
    body: `A recovery code or link was used from the network ${network}; all other devices were signed out. ${notYou}`,
  }),
  'connection.added': ({ app, host }) => ({
    title: `${app} may act for you`,
    body: `${host === null ? 'An app' : `An app at ${host}`} was let in. Disconnect it if you did not do this.`,
  }),
  'password.changed': () => ({ title: 'Your password was changed', body: `It counts from now on. ${notYou}` }),
  'passkey.added': ({ name }) => ({
    title: 'A passkey was added',
    body: `${name}. If this was not you, remove it, then sign out everywhere and set a new password.`,
  }),
};

const textOf = (notice: Notice): { title: string; body: string } =>
  (texts[notice.type] as (notice: Notice) => { title: string; body: string })(notice);
