import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../../testing.browser.ts';
import { until } from '../../testing.ts';
import type { OwnProviders } from '../transcripts/transcripts.testing.ts';
import {
  asked,
  beginsMs,
  meetingMs,
  meetingSound,
  openMeetingProviders,
  recordMeeting,
} from './hub.meeting.testing.ts';
import { checkLooks, go, HubTest, type Opened, withWorker } from './hub.testing.ts';

/** What the page's audio element does. */
const soundOf = (tab: Page) =>
  tab.locator('audio').evaluate(({ currentTime, paused, playbackRate }: any) => ({
    ms: currentTime * 1_000,
    isPlaying: !paused,
    speed: playbackRate,
  }));
/** Waits until it plays behind a moment, and no more than the meeting is long. */
const hears = (tab: Page, fromMs: number) =>
  until(async () => {
    const { ms, isPlaying } = await soundOf(tab);
    return isPlaying && ms >= fromMs - 1;
  });
const file = { name: 'Ședință.wav', mimeType: 'audio/wav', buffer: meetingSound };

describe('transcripts in the hub in a browser', { skip: noBrowser }, () => {
  let hub: HubTest;
  let providers: OwnProviders;
  /** For tests that leave the meeting as it was. */
  let reader: Promise<{ opened: Opened; id: string }> | undefined;
  before(async () => {
    providers = await openMeetingProviders();
    hub = await HubTest.open({ SVC_PROVIDERS: providers.path });
  });
  after(async () => {
    await (await reader)?.opened[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
    await providers?.[Symbol.asyncDispose]();
  });
  const open: HubTest['person'] = (...given) => hub.person(...given);
  const record = ({ account }: Opened, title = 'Launch meeting') =>
    recordMeeting(hub.t.gateway.url, account.key, { title });
  const show = ({ tab }: Opened, path: string) => go(tab, path);
  /** A person who has one meeting: both take longer to make than what is done with them. */
  const read = () =>
    (reader ??= (async () => {
      const opened = await open();
      return { opened, id: await record(opened) };
    })());

  for (const locale of ['en', 'ro'] as const)
    test(`what was decided in a meeting is three taps away, and is heard (${locale})`, async () => {
      await using opened = await open(locale);
      const { tab, words, check } = opened;
      await record(opened);
      await tab.locator('.tile', { hasText: words.transcripts.title }).click();
      await tab.getByRole('link', { name: /Launch meeting/ }).click();
      await tab.getByRole('list', { name: words.transcripts.decisions }).getByRole('button').click();
      await hears(tab, beginsMs(2));
      const { ms } = await soundOf(tab);
      assert.ok(ms < beginsMs(3), String(ms));
      check();
    });

  test('a tap on a word plays from it, keys move the sound, and the text follows until its reader scrolls', async () => {
    const { opened, id } = await read();
    const { tab, words, check } = opened;
    const text = words.transcripts;
    await show(opened, `/transcripts/${id}`);
    await tab.locator('[data-at]', { hasText: 'December,' }).click();
    const wanted = beginsMs(2, 7);
    await hears(tab, wanted);
    await tab.keyboard.press(' ');
    const stopped = await soundOf(tab);
    assert.equal(stopped.isPlaying, false);
    // The mark is on the word that began last.
    const marked = Math.floor((stopped.ms - beginsMs(2)) / 600);
    assert.equal(await tab.locator('#turn-2 .now').getAttribute('data-at'), String(marked));
    await tab.keyboard.press('ArrowRight');
    assert.ok(Math.abs((await soundOf(tab)).ms - stopped.ms - 5_000) < 2);
    await tab.keyboard.press('ArrowLeft');
    await tab.keyboard.press('>');
    assert.equal((await soundOf(tab)).speed, 1.25);
    await tab.keyboard.press('<');
    assert.equal((await soundOf(tab)).speed, 1);
    await tab.keyboard.press(' ');
    await tab.mouse.move(200, 300);
    await tab.mouse.wheel(0, -3_000);
    await tab.getByRole('button', { name: text.backToNow }).click();
    await tab.locator('.turn.now').waitFor();
    await until(async () =>
      tab.evaluate(() => {
        const page = globalThis as any;
        const { top, bottom } = page.document.querySelector('.turn.now').getBoundingClientRect();
        return top >= 0 && bottom <= page.innerHeight;
      }),
    );
    await tab.getByRole('button', { name: text.backToNow }).waitFor({ state: 'detached' });
    check();
  });

  test('a correction keeps what was heard, and it can be had again', async () => {
    const { opened, id } = await read();
    const { tab, words, make, check } = opened;
    const text = words.transcripts;
    await show(opened, `/transcripts/${id}`);
    const turn = tab.locator('#turn-3');
    await turn.getByRole('button', { name: text.correctAt('0:27') }).click();
    await turn.getByLabel(text.said).fill('Agreed. Ana writes <b>it</b> by Monday.');
    await turn.getByRole('button', { name: words.save }).click();
    await turn.getByText('Agreed. Ana writes <b>it</b> by Monday.').waitFor();
    // The focus is where it was before.
    await tab.locator('#turn-3 .turn-head > .button:focus').waitFor();
    await turn.getByRole('button', { name: text.corrected }).click();
    await turn.getByText(`${text.heard}: Agreed. I write the announcement by Friday.`).waitFor();
    const [said] = (await make(`/v1/transcripts/${id}`, undefined, 'GET')).transcript.utterances.slice(3);
    assert.equal(said.original_text, 'Agreed. I write the announcement by Friday.');
    await turn.getByRole('button', { name: text.correctAt('0:27') }).click();
    await turn.getByRole('button', { name: text.asHeard }).click();
    await turn.locator('.turn-text', { hasText: 'I write the announcement' }).waitFor();
    check();
  });

  /** A person whose upload is cut after two pieces, and waits. */
  const cutUpload = async (opened: Opened) => {
    const { tab, context, words } = opened;
    const text = words.transcripts;
    const offsets: number[] = [];
    const line = { isCut: true };
    await context.route('**/v1/uploads/*', async (route) => {
      const request = route.request();
      if (request.method() !== 'PATCH') return route.continue();
      if (line.isCut && offsets.length === 2) return route.abort('internetdisconnected');
      offsets.push(Number(request.headers()['upload-offset']));
      return route.continue();
    });
    await show(opened, '/transcripts');
    await tab.getByRole('button', { name: text.new }).first().click();
    await tab.getByLabel(text.file).setInputFiles(file);
    await tab.getByLabel(text.titleField, { exact: true }).fill('Uploaded meeting');
    await tab.getByRole('button', { name: text.upload, exact: true }).click();
    await tab.getByText(text.uploadStates.offline).waitFor();
    const whole = async () => {
      await tab.getByText(text.uploaded).waitFor();
      const sorted = offsets.toSorted((one, other) => one - other);
      assert.deepEqual([offsets, new Set(offsets).size], [sorted, offsets.length], 'no byte went twice');
    };
    return { line, whole };
  };

  test('an upload that lost the network goes on where it was, over a reload too, and becomes one transcript', async () => {
    await using opened = await open();
    const { tab, words, make, check } = opened;
    const text = words.transcripts;
    const { line, whole: isWhole } = await cutUpload(opened);
    await tab.reload();
    await tab.getByText(text.uploadStates.offline).waitFor();
    line.isCut = false;
    await tab.evaluate(() => (globalThis as any).dispatchEvent(new (globalThis as any).Event('online')));
    await isWhole();
    await tab.getByRole('link', { name: new RegExp(`${text.states.ready}.*Uploaded meeting`) }).waitFor();
    const { transcripts } = await make('/v1/transcripts', undefined, 'GET');
    assert.deepEqual(
      transcripts.map((one: { duration_ms: number }) => one.duration_ms),
      [meetingMs],
    );
    check();
  });

  test('a paused upload rests over a reload; a file that the browser lost is picked again, and no other one', async () => {
    await using opened = await open('ro');
    const { tab, words, check } = opened;
    const text = words.transcripts;
    const { line, whole: isWhole } = await cutUpload(opened);
    await tab.getByRole('button', { name: text.pauseUpload }).click();
    await tab.getByText(text.uploadStates.paused, { exact: true }).waitFor();
    line.isCut = false;
    await tab.reload();
    await tab.getByRole('button', { name: text.resumeUpload }).waitFor();
    // As where the browser has no room for it.
    await tab.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const request = (globalThis as any).indexedDB.open('svc-hub-uploads');
          request.addEventListener('success', () => {
            const clearing = request.result.transaction('files', 'readwrite').objectStore('files').clear();
            clearing.addEventListener('success', () => {
              request.result.close();
              resolve();
            });
          });
        }),
    );
    await tab.reload();
    await tab.getByText(text.lostText).waitFor();
    await tab.getByLabel(text.pickAgain).setInputFiles({ ...file, buffer: file.buffer.subarray(1) });
    await tab.getByText(text.notTheFile(file.name)).waitFor();
    await tab.getByLabel(text.pickAgain).setInputFiles(file);
    await isWhole();
    check();
  });

  test('a file that is no sound is refused in words, and leaves no transcript', async () => {
    await using opened = await open('ro');
    const { tab, words, make, check } = opened;
    const text = words.transcripts;
    await show(opened, '/transcripts');
    await tab.getByRole('button', { name: text.new }).first().click();
    await tab.getByLabel(text.file).setInputFiles({ ...file, buffer: Buffer.from('RIFF this is no sound') });
    await tab.getByRole('button', { name: text.upload, exact: true }).click();
    await tab.getByText(text.notSound).waitFor();
    await tab.getByRole('button', { name: text.dropUpload }).click();
    await tab.getByText(file.name).waitFor({ state: 'detached' });
    assert.deepEqual((await make('/v1/transcripts', undefined, 'GET')).transcripts, []);
    check();
  });

  test('a question is answered, and its source opens the meeting and plays', async () => {
    const { opened, id } = await read();
    const { tab, words, check } = opened;
    const text = words.transcripts;
    await show(opened, '/transcripts');
    await tab.getByRole('button', { name: text.ask, exact: true }).click();
    await tab.getByLabel(text.question).fill(asked.question);
    await tab.getByRole('dialog').getByRole('button', { name: text.ask, exact: true }).click();
    await tab.getByRole('link', { name: text.citation(1) }).click();
    await tab.waitForURL(new RegExp(`/hub/transcripts/${id}\\?t=${beginsMs(asked.line)}&play=1$`));
    await hears(tab, beginsMs(asked.line));
    // What was said is found by its words too, and opens at its moment.
    await show(opened, '/transcripts?q=announcement');
    await tab.getByRole('list', { name: text.hits }).getByRole('link').first().click();
    await tab.locator('#turn-3.now').waitFor();
    check();
  });

  test('a share link opens for anybody, and is revoked', async () => {
    const { opened, id } = await read();
    const { tab, words, check } = opened;
    const text = words.transcripts;
    await show(opened, `/transcripts/${id}`);
    await tab.getByRole('button', { name: text.share, exact: true }).click();
    await tab.getByRole('button', { name: text.makeLink }).click();
    const url = (await tab.getByRole('dialog').locator('pre').textContent()) ?? '';
    const anybody = async () => {
      const answer = await fetch(url);
      return { status: answer.status, body: await answer.text() };
    };
    const seen = await anybody();
    assert.equal(seen.status, 200);
    assert.match(seen.body, /Launch meeting/);
    await tab.getByRole('button', { name: text.revoke }).click();
    await tab.getByText(text.noLinks).waitFor();
    assert.equal((await anybody()).status, 404);
    check();
  });

  test('a meeting is named, moved, marked, kept as a prompt and deleted by its name', async () => {
    await using opened = await open('ro', 'screen');
    const { tab, words, make, check } = opened;
    const text = words.transcripts;
    const id = await record(opened);
    const dialog = tab.getByRole('dialog');
    const act = async (name: string) => {
      await tab.getByRole('button', { name: words.moreActs }).click();
      await tab.getByRole('menuitem', { name, exact: true }).click();
    };
    const field = async (label: string, value: string) => dialog.getByLabel(label, { exact: true }).fill(value);
    const press = async (name: string) => dialog.getByRole('button', { name, exact: true }).click();
    await show(opened, '/transcripts');
    await tab.getByRole('button', { name: text.folderActs }).click();
    await tab.getByRole('menuitem', { name: text.newFolder }).click();
    await field(words.name, 'Clienți');
    await press(words.create);
    await tab.getByText(text.folderMade).waitFor();
    await show(opened, `/transcripts/${id}`);
    await act(text.rename);
    await field(text.titleField, 'Lansare');
    await press(words.save);
    await tab.getByRole('heading', { name: 'Lansare' }).waitFor();
    await act(text.move);
    await dialog.getByLabel(text.folder).selectOption({ label: 'Clienți' });
    await press(words.save);
    await tab.getByText(text.moved).waitFor();
    await tab.getByRole('button', { name: new RegExp(text.voice('2')) }).click();
    await field(words.name, 'Ana');
    await press(words.save);
    await tab.locator('#turn-1 .turn-who', { hasText: 'Ana' }).waitFor();
    await tab.locator('.player').getByRole('button', { name: text.addBookmark }).click();
    await tab.getByRole('list', { name: text.bookmarks }).waitFor();
    await tab.getByRole('button', { name: text.accept }).click();
    await tab.getByRole('link', { name: text.showPrompt }).waitFor();
    const record_ = (await make(`/v1/transcripts/${id}`, undefined, 'GET')).transcript;
    assert.deepEqual([record_.title, record_.bookmarks.length, record_.folder_id !== null], ['Lansare', 1, true]);
    await act(text.delete);
    await field(words.name, 'Lansare');
    await press(text.delete);
    await tab.getByText(text.empty).waitFor();
    check();
  });

  test('a file that is shared with the app waits for a press, is uploaded, and nothing of it stays', async () => {
    await using opened = await open('en', 'phone', withWorker);
    const { tab, words, check } = opened;
    const text = words.transcripts;
    await tab.evaluate(async () => (globalThis as any).navigator.serviceWorker.ready.then(() => undefined));
    await tab.reload();
    // Where no worker takes it, the server leads to a page that says so.
    const body = new FormData();
    body.set('file', new Blob(['x']), file.name);
    const unheard = await fetch(`${hub.origin}/hub/share`, { method: 'POST', body, redirect: 'manual' });
    assert.deepEqual([unheard.status, unheard.headers.get('location')], [303, '/hub/transcripts?shared=none']);
    await show(opened, '/transcripts?shared=none');
    await tab.getByText(text.nothingShared).waitFor();
    // As the system's share menu sends it.
    await tab.evaluate(() => {
      const { document } = globalThis as any;
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: '/hub/share', enctype: 'multipart/form-data', id: 'sharing' });
      const input = document.createElement('input');
      Object.assign(input, { type: 'file', name: 'file', id: 'shared-file' });
      form.append(input);
      document.body.append(form);
    });
    await tab.locator('#shared-file').setInputFiles(file);
    await tab.evaluate(() => (globalThis as any).document.querySelector('#sharing').submit());
    await tab.waitForURL(`${hub.origin}/hub/transcripts?shared=1`);
    await tab.getByRole('button', { name: text.uploadShared(file.name) }).click();
    await tab.getByRole('dialog').getByRole('button', { name: text.upload, exact: true }).click();
    await tab.getByText(text.uploaded).waitFor();
    const kept = await tab.evaluate(
      () =>
        new Promise((resolve) => {
          const request = (globalThis as any).indexedDB.open('svc-hub-uploads');
          request.addEventListener('success', () => {
            const all = request.result.transaction('files').objectStore('files').count();
            all.addEventListener('success', () => resolve(all.result));
          });
        }),
    );
    assert.equal(kept, 0);
    check();
  });

  test('live text is seen while a device records; when the sound is deleted the text stays and the page says so', async () => {
    await using opened = await open();
    const { tab, words, make, account, check } = opened;
    const text = words.transcripts;
    const { transcript } = await make('/v1/transcripts', { title: 'Now' });
    await show(opened, `/transcripts/${transcript.id}`);
    await tab.getByText(text.liveWaits).waitFor();
    // A frame that comes before the page follows is gone: its device sends another one.
    await until(async () => {
      const final = { text: 'We begin.', start_ms: 0, end_ms: 900 };
      await make(`/v1/transcripts/${transcript.id}/live`, { finals: [final], partial: 'and then' });
      return (await tab.getByText('We begin.').count()) > 0;
    });
    const id = await record(opened);
    await hub.t.gateway.kernel.sql`
      update transcripts.transcripts set audio_purged_at = now() where account_id = ${account.id} and id = ${id}`;
    await show(opened, `/transcripts/${id}`);
    await tab.getByText(text.purgedText).waitFor();
    assert.equal(await tab.locator('audio').count(), 0);
    await tab.getByText('Good morning, let us begin').waitFor();
    check();
  });

  test('a recording that failed says why, and the button beside it mends it as the page looks on', async () => {
    await using opened = await open('ro');
    const { tab, words, check } = opened;
    const text = words.transcripts;
    const id = await record(opened);
    await hub.t.gateway.kernel.sql`
      update transcripts.transcripts set state = 'failed', error = 'the provider was away' where id = ${id}`;
    await show(opened, `/transcripts/${id}`);
    await tab.getByText('the provider was away').waitFor();
    await tab.getByRole('alert').getByRole('button', { name: text.retranscribe }).click();
    await tab.locator('.facts').getByText(text.states.ready, { exact: true }).waitFor();
    check();
  });

  test('two tracks are heard at once, and each of them alone goes on at the same place', async () => {
    await using opened = await open();
    const { tab, words, account, check } = opened;
    const text = words.transcripts;
    const id = await recordMeeting(hub.t.gateway.url, account.key, {}, { mic: meetingSound, system: meetingSound });
    await show(opened, `/transcripts/${id}`);
    await tab.locator('.turn-time').nth(3).click();
    const both = () =>
      tab
        .locator('audio')
        .evaluateAll((all: any[]) => all.map(({ currentTime, paused }) => ({ ms: currentTime * 1_000, paused })));
    await until(async () => {
      const all = await both();
      return all.length === 2 && all.every(({ ms, paused }) => !paused && ms > beginsMs(1));
    });
    const before = (await both())[0]?.ms ?? 0;
    await tab.getByLabel(text.track).selectOption('mic');
    await hears(tab, before);
    check();
  });

  for (const [locale, size, colorScheme] of [
    ['en', 'phone', 'light'],
    ['ro', 'screen', 'dark'],
  ] as const)
    test(`every page is whole, reads aloud and scrolls sideways at no size (${locale}, ${colorScheme})`, async () => {
      await using opened = await open(locale, size, { colorScheme });
      const { tab, words, make, check } = opened;
      const text = words.transcripts;
      const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe';
      const id = await record(opened, hostile);
      await make(`/v1/transcripts/${id}/speakers/S1`, { name: hostile }, 'PATCH');
      await make(`/v1/transcripts/${id}/utterances/1`, { text: `${hostile} ${'x'.repeat(200)}` }, 'PATCH');
      await make(`/v1/transcripts/${id}/bookmarks`, { at_ms: 9_500, note: hostile });
      await make('/v1/transcripts', { title: 'Under way' });
      await make('/v1/transcript-folders', { name: hostile });
      const entries = [{ term: 'Kubernetes', sounds_like: ['cooper netties'], language: null, note: null }];
      await make('/v1/transcript-vocabulary', { entries }, 'PUT');
      const looks = (path: string) =>
        checkLooks(tab, `${path.replace(id, 'id')}.${locale}`, locale === 'en' ? 'all' : 'colors');
      for (const path of ['/transcripts', '/transcripts?q=launch', `/transcripts/${id}`, '/transcripts/vocabulary']) {
        await show(opened, path);
        await looks(path);
      }
      await show(opened, `/transcripts/${id}`);
      await tab.getByText('[U+202E]gnp.exe').first().waitFor();
      await tab.getByRole('button', { name: text.share, exact: true }).click();
      await looks('/transcripts-share');
      await show(opened, '/transcripts');
      await tab.getByRole('button', { name: text.new }).first().click();
      await looks('/transcripts-new');
      check();
    });
});
