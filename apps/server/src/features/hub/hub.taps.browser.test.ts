import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { installationOf } from '../../backup/database.sql.ts';
import { writePlace } from '../../backup/place.ts';
import { writeRecord } from '../../backup/record.ts';
import { newName } from '../../backup/store.ts';
import { noBrowser } from '../../testing.browser.ts';
import { http, until } from '../../testing.ts';
import { setOperator } from '../accounts/index.ts';
import { go, HubTest, type Opened } from './hub.testing.ts';

/** Each language and each size once: one has other words, the other another menu, and neither asks for the other. */
const places = [
  ['en', 'phone'],
  ['ro', 'screen'],
] as const;

describe('what a person does in three taps', { skip: noBrowser }, () => {
  let hub: HubTest;

  before(async () => {
    hub = await HubTest.open();
  });
  after(() => hub?.[Symbol.asyncDispose]());

  /** Counts taps from the first page on. */
  class Taps {
    count = 0;
    readonly opened: Opened;
    readonly isPhone: boolean;

    constructor(opened: Opened, size: string) {
      this.opened = opened;
      this.isPhone = size === 'phone';
    }

    async on(target: Locator): Promise<void> {
      await target.first().click();
      this.count += 1;
    }

    button = (name: string): Promise<void> =>
      this.on(this.opened.tab.getByRole('button', { name, exact: true }).locator('visible=true'));
    item = (name: string): Promise<void> => this.on(this.opened.tab.getByRole('menuitem', { name, exact: true }));

    /** A page of the menu. On a phone those that are not in its bar are behind one tap more, which the table counts as one. */
    async page(name: string): Promise<void> {
      const { tab, words } = this.opened;
      const link = tab.locator('nav').getByRole('link', { name, exact: true }).locator('visible=true');
      if (this.isPhone && (await link.count()) === 0)
        await tab.getByRole('button', { name: words.nav.more, exact: true }).click();
      await this.on(link);
    }
  }

  for (const [locale, size] of places)
    describe(`(${locale}, ${size})`, () => {
      let opened: Opened;
      before(async () => {
        opened = await hub.person(locale, size);
        await setOperator(hub.t.gateway.kernel.sql, opened.account.id, true);
      });
      after(() => opened?.[Symbol.asyncDispose]());
      const begin = async (): Promise<Taps> => {
        await go(opened.tab, '/');
        return new Taps(opened, size);
      };
      const schedule = (name: string, more: object = {}) =>
        opened.make('/v1/schedules', {
          name,
          kind: 'shell',
          spec: { command: 'make deploy' },
          trigger: { type: 'interval', every_s: 3600 },
          ...more,
        });

      test('approves a run from its page: one, and a failed one runs again: two', async () => {
        const { tab, words, make } = opened;
        const { id } = await schedule('Approved', { policy: { approval: 'always' } });
        const { run_id: run } = await make(`/v1/schedules/${id}/run`);
        await go(tab, `/schedule-runs/${run}`);
        const approving = new Taps(opened, size);
        await approving.button(words.actions.approve);
        await until(async () => (await make(`/v1/schedule-runs/${run}`, undefined, 'GET')).state === 'pending');
        assert.equal(approving.count, 1);
        await hub.t.gateway.kernel.sql`
          update scheduler.runs set state = 'failed', finished_at = now(), error = 'it broke' where id = ${run}`;
        const taps = await begin();
        // The database told nobody of it: this does, after what was told of its approval.
        await hub.tell(opened, 'scheduler', run);
        await tab.locator('.card').getByRole('link', { name: words.now.showLog, exact: true }).waitFor();
        // It stands before the counts.
        assert.equal(await tab.locator('.page > :is(.tiles, .section)').first().getAttribute('class'), 'section');
        await taps.on(tab.getByRole('heading').getByRole('link', { name: 'Approved', exact: true }));
        await taps.button(words.actions.rerun);
        await tab.getByText(words.actions.done.rerun, { exact: true }).waitFor();
        assert.ok(taps.count <= 2);
        await make(`/v1/schedules/${id}`, undefined, 'DELETE');
      });

      test('silences a monitor for an hour: one', async () => {
        const { tab, words, make } = opened;
        const { id, ping_url: address } = await make('/v1/heartbeats', { name: 'Loud', period_s: 3600 });
        const { pathname } = new URL(address);
        await http(hub.t.gateway.url, pathname, { method: 'POST' });
        await http(hub.t.gateway.url, `${pathname}/fail`, { method: 'POST' });
        const taps = await begin();
        await taps.on(tab.locator('.card').getByRole('button', { name: words.monitors.pauseFor.hour, exact: true }));
        await until(async () => {
          const { status, muted_until: end } = await make(`/v1/heartbeats/${id}`, undefined, 'GET');
          return status === 'down' && end !== undefined;
        });
        assert.equal(taps.count, 1);
      });

      test('stops every schedule until tomorrow: two', async () => {
        const { tab, words } = opened;
        await schedule('Stopped');
        const taps = await begin();
        await taps.button(words.now.pauseAll);
        await taps.item(words.schedules.pauseAllFor.day);
        await tab.getByText(words.schedules.allPaused, { exact: true }).first().waitFor();
        assert.ok(taps.count <= 3);
        // Nothing is promised that does not run: what is shown of the day comes after the pause.
        await go(tab, '/schedules');
        await tab.locator('.box.note').getByText(words.schedules.allPausedUntil).waitFor();
        await tab.getByText(words.schedules.paused, { exact: true }).first().waitFor();
        assert.equal(await tab.getByText(words.schedules.on, { exact: true }).locator('visible=true').count(), 1);
        assert.equal(await tab.locator('.row-link time').count(), 0);
        await tab.locator('.box.note').getByRole('button', { name: words.now.resumeAll, exact: true }).click();
        await tab.locator('.row-link time').first().waitFor();
      });

      test('makes a key that may only read monitors: three', async () => {
        const { tab, words, make } = opened;
        const taps = await begin();
        await taps.page(words.nav.keys);
        await taps.button(words.keys.new);
        await taps.on(tab.getByRole('dialog').getByRole('button', { name: words.create, exact: true }));
        await tab.getByText(words.keys.once, { exact: true }).waitFor();
        assert.ok(taps.count <= 3);
        const { keys } = await make('/v1/keys', undefined, 'GET');
        const made = keys.find(({ name }: { name: string }) => name === words.keys.presets.monitors);
        assert.deepEqual(made.scopes, ['heartbeats:read']);
      });

      test('makes a monitor and its line: three, and a name', async () => {
        const { tab, words } = opened;
        const taps = await begin();
        await taps.page(words.nav.heartbeats);
        await taps.on(tab.getByRole('link', { name: words.monitors.new, exact: true }));
        await tab.getByLabel(words.name, { exact: true }).fill('Line');
        await taps.button(words.monitors.createAndCopy);
        await tab.getByText(words.monitors.waiting).waitFor();
        assert.ok(taps.count <= 3);
      });

      test('invites a machine: two from the first page, which opens the dialog', async () => {
        const { tab, words } = opened;
        const taps = await begin();
        await taps.on(tab.getByRole('link', { name: words.machines.invite, exact: true }));
        await taps.button(words.machines.makeLine);
        const line = tab.locator('.copy-text pre').first();
        await line.waitFor();
        assert.ok(taps.count <= 3);
        // The dialog tells when the machine has come.
        const [, code] = /--code (\w+)/.exec((await line.textContent()) ?? '') ?? [];
        const device = { id: randomUUID(), name: 'builder' };
        const { url } = hub.t.gateway;
        const { key } = (await http(url, '/v1/hosts/invites/redeem', { body: { code, device } })).body;
        const claimed = await http(url, '/v1/scheduler/claim', {
          key,
          body: {},
          headers: { 'x-svc-device': device.id, 'x-svc-device-name': device.name },
        });
        assert.equal(claimed.status, 200);
        await tab.getByText(words.machines.came('builder'), { exact: true }).waitFor();
        await tab.getByRole('link', { name: words.open, exact: true }).click();
        await tab.getByRole('heading', { name: 'builder', exact: true }).waitFor();
      });

      test('sees whether the installation is well: one, and invites a person: three and an address', async () => {
        const { tab, words } = opened;
        const taps = await begin();
        await taps.page(words.nav.system);
        await tab.getByRole('heading', { name: words.system.checks, exact: true }).waitFor();
        assert.equal(taps.count, 1);
        await tab.getByText(words.system.missing.mail.fix, { exact: true }).waitFor();
        assert.equal(await tab.getByText(words.system.allWell, { exact: true }).count(), 0);
        await taps.button(words.system.invite);
        await tab.getByLabel(words.email, { exact: true }).fill(`${locale}-${size}@example.test`);
        await taps.on(tab.getByRole('dialog').getByRole('button', { name: words.create, exact: true }));
        await tab.getByText(words.system.linkOnce, { exact: true }).waitFor();
        assert.ok(taps.count <= 3);
        await tab.getByText(words.system.loopback(hub.origin), { exact: true }).waitFor();
        const invited = tab.locator('main .row', { hasText: `${locale}-${size}@example.test` });
        await invited.getByText(words.system.notSignedIn, { exact: true }).waitFor();
        await tab.getByText(words.system.backups.setUp, { exact: false }).waitFor();
        // One that fails is red, with what to do.
        const failed = { since: new Date().toISOString(), reason: 'this user may not', fix: 'chown -R svc /mnt/x' };
        await tab.route('**/v1/system/backups', (route) =>
          route.fulfill({
            json: { place: '/mnt/x', own_server: false, every_s: 86_400, keep: 7, sealed: false, failed },
          }),
        );
        await go(tab, '/system');
        await tab.getByRole('alert').getByText(failed.fix, { exact: true }).waitFor();
        await tab.getByRole('button', { name: words.system.backups.now, exact: true }).waitFor();
        await tab.unroute('**/v1/system/backups');
      });

      // Once: the words of all are looked at by their types, and the sizes by hub.browser.
      if (locale !== 'en' || size !== 'phone') return;
      test('sets up backups: a place is tried first, then shown, and what is kept is downloaded', async () => {
        const { tab, words } = opened;
        const { kernel } = hub.t.gateway;
        const text = words.system.backups;
        const folder = await mkdtemp(join(tmpdir(), 'svc-hub-backups-'));
        await go(tab, '/');
        await go(tab, '/system');
        await tab.getByRole('button', { name: text.choose, exact: true }).click();
        const dialog = tab.getByRole('dialog');
        await dialog.getByLabel(text.placeLabel, { exact: true }).fill(join(folder, 'gone', 'x'));
        await dialog.getByRole('button', { name: text.tryPlace, exact: true }).click();
        await dialog.getByText(/there is no folder/).waitFor();
        await dialog.getByLabel(text.placeLabel, { exact: true }).fill('s3://bucket/x');
        await dialog.getByLabel(text.secretKey, { exact: true }).waitFor();
        await dialog.getByLabel(text.placeLabel, { exact: true }).fill(folder);
        await dialog.getByRole('button', { name: text.tryPlace, exact: true }).click();
        await tab.locator('main code', { hasText: folder }).waitFor();
        // The test runs nothing that makes one.
        const name = newName(await installationOf(kernel.sql), new Date());
        await writeFile(join(folder, name), 'a backup');
        await writeRecord(kernel.sql, { place: folder, newest: { name, bytes: 8, at: new Date().toISOString() } });
        await go(tab, '/system');
        await tab.getByRole('button', { name: text.download, exact: true }).click();
        const saved = tab.waitForEvent('download');
        await tab.getByRole('dialog').locator('a[download]').click();
        assert.equal((await saved).suggestedFilename(), name);
        assert.equal(await readFile(await (await saved).path(), 'utf8'), 'a backup');
        await go(tab, '/');
        await go(tab, '/system');
        await tab.getByText(text.restore, { exact: true }).click();
        await tab.getByText(`./svc restore ${folder}/${name}`, { exact: true }).waitFor();
        // Another machine knows nothing of a bucket that was chosen here.
        const access = { endpoint: 'http://minio:9000', region: 'eu', accessKeyId: 'id' };
        await writePlace(kernel.sql, kernel, { place: 's3://bucket/x', access, secretAccessKey: 'EXAMPLE-s3-secret' });
        await writeRecord(kernel.sql, {
          place: 's3://bucket/x',
          newest: { name, bytes: 8, at: new Date().toISOString() },
        });
        await go(tab, '/');
        await go(tab, '/system');
        await tab.getByText(text.restore, { exact: true }).click();
        const shown = await tab.locator('pre', { hasText: 'SVC_BACKUP_S3_' }).innerText();
        assert.deepEqual(shown.split('\n'), [
          "export SVC_BACKUP_S3_ENDPOINT='http://minio:9000'",
          "export SVC_BACKUP_S3_REGION='eu'",
          "export SVC_BACKUP_S3_ACCESS_KEY_ID='id'",
          "export SVC_BACKUP_S3_SECRET_ACCESS_KEY='…'",
        ]);
        await tab.getByRole('button', { name: text.end, exact: true }).click();
        await tab.getByText(text.setUp, { exact: false }).waitFor();
        await rm(folder, { recursive: true });
      });
    });
});
