import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { locales, type Words, wordsOf } from '@svc/words';
import { readSources } from '../../../scripts/rules/repository.ts';
import { noticeOf } from './features/auth/auth.notices.ts';
import { signIn } from './features/me/me.testing.ts';
import { shared } from './testing.shared.ts';
import { clientOf, createAccount, openTest } from './testing.ts';

/** Every kind of notification, and which part of `alerts` says it. */
const kinds: Readonly<Record<string, keyof Words['alerts'] | 'an agent'>> = {
  'agent.message': 'an agent',
  'backup.failed': 'backups',
  'backup.late': 'backups',
  'connection.added': 'signIns',
  'connection.stolen': 'signIns',
  'connection.changes': 'connections',
  'environment.budget': 'environments',
  'environment.failed': 'environments',
  'environment.invited': 'environments',
  'environment.handed_over': 'environments',
  'environment.member_added': 'environments',
  'environment.member_removed': 'environments',
  'environment.owner_asked': 'environments',
  'environment.stopped_idle': 'environments',
  'exec.done': 'execs',
  'heartbeat.down': 'monitors',
  'heartbeat.up': 'monitors',
  'login.address_taken': 'signIns',
  'login.new': 'signIns',
  'login.recovered': 'signIns',
  'notification.test': 'test',
  'notification.webhook_disabled': 'webhooks',
  'org.removed': 'orgs',
  'passkey.added': 'signIns',
  'password.changed': 'signIns',
  'prompt.answered': 'prompts',
  'prompt.due': 'prompts',
  'prompt.failed': 'prompts',
  'prompt.waiting': 'prompts',
  'schedule.approval': 'runs',
  'schedule.budget': 'runs',
  'schedule.changed': 'runs',
  'schedule.disabled': 'runs',
  'schedule.failed': 'runs',
  'schedule.host_approval': 'runs',
  'schedule.late': 'runs',
  'schedule.succeeded': 'runs',
  'system.node_back': 'system',
  'system.node_missing': 'system',
  'system.node_refused': 'system',
  'system.relay_back': 'system',
  'system.relay_missing': 'system',
  'system.worker_back': 'system',
  'system.worker_missing': 'system',
  'transcript.failed': 'transcripts',
  'transcript.ready': 'transcripts',
};
/** Who tells an account something, beside the feature that does it. */
const tellers = readSources().filter(
  ({ path, text }) =>
    /^apps\/server\/src\/(?:features|backup)\//.test(path) &&
    !/\.(?:test|testing)\.ts$/.test(path) &&
    /\b(?:notify|notifyMany|NewNotice|testType)\b/.test(text) &&
    !path.endsWith('/notifications.rules.ts'),
);

/** The names of kinds in a source, such as 'heartbeat.down'. */
const prefixes = [...new Set(Object.keys(kinds).map((kind) => kind.replace(/\..*/, '')))].join('|');
const named = new RegExp(
  `(?:\\btype: '([a-z]+\\.[a-z_]+)'|(?<!name: |operationId: )'((?:${prefixes})\\.[a-z_]+)')`,
  'g',
);

describe('the language of an account', () => {
  // Nothing listens there: mails wait in their table.
  const settings = { SVC_SMTP_URL: 'smtp://127.0.0.1:1', SVC_MAIL_FROM: 'svc <bot@svc.test>' };
  const { gateway } = shared(() => openTest({ settings }));
  const romanian = async () => {
    const account = await createAccount(gateway);
    await gateway.kernel.sql`update accounts.accounts set locale = 'ro' where id = ${account.id}`;
    return account;
  };

  test('every kind of notification stands in the table, and no feature has a text of its own beside the catalogue', () => {
    const found = new Set(
      tellers.flatMap(({ path, text }) => {
        const names = [...text.matchAll(named)].map(([, one, other]) => one ?? other ?? '');
        const own = path.endsWith('/environments/people/notify.ts') ? [...text.matchAll(/type: '([a-z_]+)'/g)] : [];
        return [...names, ...own.map(([, name = '']) => `environment.${name}`)];
      }),
    );
    assert.deepEqual([...found].sort(), Object.keys(kinds).sort());
    const literal = /\b(?:title|body|subject): [`'"]([^`'"]*)/g;
    const texts = tellers.flatMap(({ text }) => [...text.matchAll(literal)].map(([, said = '']) => said));
    assert.deepEqual(
      texts.filter((said) => /[a-z]{3}/i.test(said.replace(/\$\{[^]*/, ''))),
      [],
    );
    const parts = Object.keys(wordsOf('ro').alerts);
    const used = Object.values(kinds).filter((part) => part !== 'an agent');
    assert.deepEqual([...new Set([...used, 'plain', 'resolutions'])].sort(), parts.sort());
  });

  test('what is told of ways to sign in is another text in each language', () => {
    const notices = [
      { type: 'login.new', device: 'D', network: 'N' },
      { type: 'login.address_taken', before: 'a@svc.test', email: 'b@svc.test' },
      { type: 'login.recovered', network: 'N' },
      { type: 'connection.added', app: 'A', host: null },
      { type: 'connection.stolen', app: 'A' },
      { type: 'connection.added', app: 'A', host: 'h.test' },
      { type: 'passkey.added', name: 'P' },
      { type: 'password.changed' },
    ] as const;
    for (const notice of notices) {
      const [en, ro] = locales.map((locale) => noticeOf('id', notice).says(wordsOf(locale).alerts));
      assert.notEqual(en?.title, ro?.title, notice.type);
      assert.notEqual(en?.body, ro?.body, notice.type);
    }
  });

  test('a notification is in the language of its account', async () => {
    const account = await romanian();
    const { title, text } = wordsOf('ro').alerts.test;
    const { notification } = await clientOf(gateway, account.key).notifications.sendTest();
    assert.deepEqual([notification.title, notification.body], [title, text]);
  });

  test('a mail about an account is in its language, whatever the browser that asked for it speaks', async () => {
    const account = await romanian();
    const login = await signIn(gateway, account);
    await login.ask('PATCH', '/v1/me', { email: `new-${account.id}@svc.test` });
    const [sent] = await gateway.kernel.sql<{ subject: string }[]>`
      select subject from notifications.mails where dedupe_key like 'me.address:%'`;
    assert.equal(sent?.subject, wordsOf('ro').mails.addressChanged({ address: '', at: '' }).subject);
  });

  test('a recording without a title has one in the language of its account, and keeps it', async () => {
    const account = await romanian();
    const client = clientOf(gateway, account.key);
    const body = { source: 'upload', started_at: '2026-11-30T12:00:00.000Z' } as const;
    const { transcript } = await client.transcripts.create({ body });
    assert.equal(transcript.title, wordsOf('ro').titles.recording('2026-11-30'));
    await gateway.kernel.sql`update accounts.accounts set locale = null where id = ${account.id}`;
    assert.equal((await client.transcripts.get({ params: { id: transcript.id } })).transcript.title, transcript.title);
  });

  test('a share link that leads nowhere says so in the language that its visitor asks for', async () => {
    const at = `${gateway.url}/hub/t/${'A'.repeat(43)}`;
    const page = async (language: string) => (await fetch(at, { headers: { 'accept-language': language } })).text();
    assert.match(await page('ro'), /<html lang="ro"[^]*nu este disponibil/);
    assert.match(await page('de'), /<html lang="en"[^]*is not available/);
  });
});
