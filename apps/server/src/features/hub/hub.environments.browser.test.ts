import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { noBrowser } from '../../testing.browser.ts';
import { credentialsChanged } from '../../kernel/mount/access.ts';
import { createAccount, http, until } from '../../testing.ts';
import { type Platform, password } from '../auth/auth.testing.ts';
import { letIn } from '../connections/connections.testing.ts';
import { environmentOf, invite, join, projectOf } from '../environments/environments.testing.ts';
import { enrolled, TestDaemon } from '../relay/relay.testing.ts';
import { checkLooks, go, HubTest, keptIn, type Opened } from './hub.testing.ts';

const canary = 'canary-of-a-secret-8361';

describe('environments in the hub', { skip: noBrowser }, () => {
  let hub: HubTest;
  let t: Platform;
  let origin = '';

  before(async () => {
    hub = await HubTest.open();
    ({ t, origin } = hub);
  });
  after(() => hub?.[Symbol.asyncDispose]());
  const open: HubTest['person'] = (...given) => hub.person(...given);

  /** A machine of an environment that is here. */
  const serve = async ({ account, make }: Opened, env: { id: string; deviceId: string }) => {
    const path = `/relay/v1/environments/${env.id}`;
    const headers = { authorization: `Bearer ${account.key}`, 'x-svc-device': env.deviceId };
    const daemon = new TestDaemon(`${t.gateway.url}${path}/serve`, headers);
    await until(async () => (await make(`${path}/status`, undefined, 'GET')).usable === true);
    return Object.assign(daemon, { [Symbol.asyncDispose]: () => daemon.close() });
  };
  const show = ({ tab }: Opened, path: string) => go(tab, path);
  const button = ({ tab }: Opened, name: string) => tab.getByRole('button', { name, exact: true });
  /** The act of the menu of the page, or of a row. */
  const choose = async (opened: Opened, name: string, row = opened.tab.locator('.page-head')) => {
    await row.getByRole('button', { name: opened.words.moreActs }).click();
    await opened.tab.getByRole('menuitem', { name, exact: true }).click();
  };
  const memberRow = ({ tab }: Opened, email: string) => tab.locator('li').filter({ hasText: email }).first();

  test('who lets somebody in long after they signed in is asked who they are, and what an app let in goes with the app', async () => {
    await using opened = await open();
    const { tab, words, account, make, check } = opened;
    const friend = await createAccount(t.gateway);
    const guest = await createAccount(t.gateway);
    const id = await environmentOf(t.gateway, account);
    const { kernel } = t.gateway;
    await kernel.sql`update auth.logins set auth_time = now() - interval '20 days' where account_id = ${account.id}`;
    await kernel.gateways.announce(credentialsChanged, { accountId: account.id });
    await show(opened, `/environments/${id}`);
    await button(opened, words.members.add).click();
    await tab.getByLabel(words.email, { exact: true }).fill(friend.email);
    await tab.getByRole('dialog').getByRole('button', { name: words.members.add, exact: true }).click();
    await tab.getByRole('heading', { name: words.reauth.title }).waitFor();
    await tab.getByLabel(words.password, { exact: true }).fill(password);
    await button(opened, words.continue).click();
    await tab.getByText(words.members.added, { exact: true }).waitFor();
    await memberRow(opened, friend.email).waitFor();

    const app = await letIn(t.gateway, account, ['environments', 'environments:terminal'], 'registered');
    const body = { email: guest.email, role: 'developer' };
    await http(t.gateway.url, `/v1/environments/${id}/members`, { key: app.key, body });
    await show(opened, '/connections');
    await button(opened, words.connections.disconnect).click();
    const dialog = tab.getByRole('dialog');
    await dialog.getByText(`${words.connections.letInKinds.member}: ${guest.email}`).waitFor();
    await dialog.getByRole('button', { name: words.connections.disconnect, exact: true }).click();
    await tab.getByText(words.connections.disconnected, { exact: true }).waitFor();
    const { members } = await make(`/v1/environments/${id}/members`, undefined, 'GET');
    const emails = members.map(({ email }: { email: string }) => email);
    assert.deepEqual(emails, [account.email, friend.email]);
    check();
  });

  test('from nothing to a machine: project, environment, the line that enrols, and the machine as it comes', async () => {
    await using opened = await open();
    const { tab, words, check } = opened;
    await show(opened, '/environments');
    await button(opened, words.projects.new).first().click();
    await tab.getByLabel(words.name, { exact: true }).fill('Shop');
    await tab.getByLabel(words.projects.repo).fill('https://ana:secret@example.com/shop.git');
    await button(opened, words.create).click();
    // What is wrong stands at its field, and what was typed stays.
    await tab.locator('.field .problem').waitFor();
    await tab.getByLabel(words.projects.repo).fill('https://example.com/shop.git');
    await button(opened, words.create).click();
    await button(opened, words.environments.new).click();
    await tab.getByLabel(words.name, { exact: true }).fill('Workstation');
    await button(opened, words.create).click();
    await tab.getByRole('heading', { name: 'Workstation', exact: true }).waitFor();
    await tab.getByText(words.environments.neverSeen).waitFor();
    await button(opened, words.enrolment.act).click();
    await button(opened, words.enrolment.make).click();
    const line = (await tab.getByRole('dialog').locator('pre').textContent()) ?? '';
    await tab.getByText(words.enrolment.waiting).waitFor();
    const [token = ''] = /svc_env_\S+/.exec(line) ?? [];
    const deviceId = randomUUID();
    const body = { token, device_id: deviceId, daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
    const answer = await http(t.gateway.url, '/v1/environments/enroll', { method: 'POST', body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await tab.getByText(words.enrolment.reports).waitFor();
    await using daemon = await serve(opened, { id: answer.body.environment_id, deviceId });
    await tab.getByText(words.enrolment.here).waitFor();
    await tab.locator('dialog header').getByRole('button', { name: words.close }).click();
    await tab.locator('.facts').getByText(words.environments.states.running, { exact: true }).waitFor();
    await tab.getByText(words.environments.usable, { exact: true }).waitFor();
    daemon.tell({ git_state: { branch: 'feature/pay', dirty: true, ahead: 2, behind: 0, worktrees: [] } });
    await tab.getByText('feature/pay').waitFor();
    await tab.getByText(words.environments.ahead(2)).waitFor();
    assert.doesNotMatch(await keptIn(tab), new RegExp(token), 'a token is kept nowhere');
    check();
  });

  test('a port is published from what listens there, its link opens it in a browser, and it is taken back', async () => {
    await using opened = await open();
    const { tab, words, make, account, check } = opened;
    const page = createServer((_, answer) => answer.setHeader('content-type', 'text/plain').end('the shop'));
    page.listen(0, '127.0.0.1');
    await once(page, 'listening');
    const { port } = page.address() as AddressInfo;
    const env = await enrolled(t.gateway, account);
    await using daemon = await serve(opened, env);
    daemon.tell({ listeners: [{ port, pid: 4711, process: 'node' }] });
    await show(opened, `/environments/${env.id}`);
    await button(opened, words.ports.publishOne).click();
    await tab.getByLabel(words.ports.visibility).selectOption('org');
    await tab.getByRole('dialog').getByRole('button', { name: words.ports.publishOne }).click();
    await button(opened, words.ports.link).click();
    const url = await tab.getByRole('link', { name: words.ports.linkOpen }).getAttribute('href');
    await using visitor = await tab.context().browser()!.newContext();
    const visit = await visitor.newPage();
    await visit.goto(url ?? '');
    await visit.getByText('the shop').waitFor();
    await tab.locator('dialog header').getByRole('button', { name: words.close }).click();
    await choose(opened, words.ports.remove, tab.getByRole('list', { name: words.ports.title }));
    await tab.getByText(words.ports.none).waitFor();
    assert.deepEqual((await make(`/v1/environments/${env.id}/ports`, undefined, 'GET')).ports, []);
    page.closeAllConnections();
    page.close();
    check();
  });

  test('a terminal of the machine, once who types has shown who they are', async () => {
    await using opened = await open('en', 'screen');
    const { tab, words, account, check } = opened;
    const env = await enrolled(t.gateway, account);
    await using daemon = await serve(opened, env);
    // They signed in yesterday; the relay's own refusal is in its tests.
    await tab.route(/\/v1\/me$/, async (route) => {
      const answer = await route.fetch();
      const me = await answer.json();
      me.actor.auth_time = new Date(Date.now() - 13 * 3_600_000).toISOString();
      await route.fulfill({ response: answer, json: me });
    });
    await tab.goto(`${origin}/hub/environments/${env.id}`);
    await tab.getByRole('link', { name: words.terminal.open, exact: true }).click();
    await button(opened, words.continue).click();
    await tab.getByRole('dialog').getByLabel(words.password).fill(password);
    await tab.getByRole('dialog').getByRole('button', { name: words.continue, exact: true }).click();
    const terminal = tab.frameLocator('.terminal-frame');
    await terminal.getByText('Connected').waitFor();
    assert.ok(daemon.requests.length > 0);
    check();
  });

  test('who is invited accepts or declines on the page of environments, and sees nothing of it before', async () => {
    await using owner = await open('en', 'screen');
    await using person = await open('ro');
    const { words, tab } = person;
    const [one, other] = [
      await environmentOf(t.gateway, owner.account),
      await environmentOf(t.gateway, owner.account),
    ] as const;
    const invited = async (id: string) =>
      invite(t.gateway, { id, by: owner.account, email: person.account.email, role: 'viewer' });
    await invited(one);
    await invited(other);
    await show(person, '/environments');
    await tab.getByText(owner.account.email).first().waitFor();
    assert.equal(await tab.getByRole('link', { name: 'Workstation' }).count(), 0);
    // The newest is the first.
    await button(person, words.invitations.decline).first().click();
    await tab.getByText(words.invitations.declined).waitFor();
    await until(async () => (await tab.getByText(owner.account.email).count()) === 1);
    await button(person, words.invitations.accept).click();
    await tab.getByText(words.environments.roles.viewer, { exact: true }).waitFor();
    // A no looks as if nobody had answered.
    await show(owner, `/environments/${other}`);
    await memberRow(owner, person.account.email).getByText(owner.words.members.invited).waitFor();
  });

  test('who may not do something is told which role it takes, and gets more as their role grows', async () => {
    await using owner = await open('en', 'screen');
    await using viewer = await open('ro');
    const { words } = viewer;
    const id = await environmentOf(t.gateway, owner.account);
    await join(t.gateway, id, { by: owner.account, account: viewer.account, role: 'viewer' });
    await show(viewer, '/environments');
    await viewer.tab.getByText('Workstation').click();
    const { roles, needs, seeNeeds, actsNeed } = words.environments;
    await viewer.tab.getByText(actsNeed(roles.maintainer, roles.viewer)).waitFor();
    await viewer.tab.getByText(needs(roles.developer, roles.viewer)).waitFor();
    await viewer.tab.getByText(seeNeeds(roles.developer, roles.viewer)).waitFor();
    for (const name of [words.enrolment.act, words.ports.publish, words.members.add, words.secrets.set])
      assert.equal(await button(viewer, name).count(), 0, name);
    await show(owner, `/environments/${id}`);
    await choose(owner, owner.words.members.change, memberRow(owner, viewer.account.email));
    await owner.tab.getByLabel(owner.words.members.role, { exact: true }).selectOption('maintainer');
    await button(owner, owner.words.save).click();
    await owner.tab.getByText(owner.words.members.changed).waitFor();
    // Nothing is reloaded.
    await button(viewer, words.enrolment.act).waitFor();
    await button(viewer, words.secrets.set).waitFor();
    await choose(owner, owner.words.members.remove, memberRow(owner, viewer.account.email));
    await button(owner, owner.words.members.remove).click();
    await viewer.tab.getByText(words.errors.codes.not_found).first().waitFor();
    owner.check();
    viewer.check();
  });

  test('the value of a secret is nowhere in the browser or an answer once it was sent', async () => {
    await using opened = await open();
    const { tab, words, make, account, check } = opened;
    const id = await environmentOf(t.gateway, account);
    const answers: Promise<string>[] = [];
    tab.on('response', (answer) => {
      // A stream has no end.
      if (!answer.url().includes('/stream')) answers.push(answer.text().catch(() => ''));
    });
    await show(opened, `/environments/${id}`);
    await button(opened, words.secrets.set).click();
    await tab.getByLabel(words.secrets.name, { exact: true }).fill('database');
    await tab.getByLabel(words.secrets.value).fill(`${canary}\nsecond line`);
    await button(opened, words.save).click();
    await tab.locator('.field .problem').waitFor();
    assert.doesNotMatch(await keptIn(tab), new RegExp(canary), 'while it is typed');
    await tab.getByLabel(words.secrets.name, { exact: true }).fill('DATABASE_URL');
    await button(opened, words.save).click();
    await tab.getByText('DATABASE_URL').first().waitFor();
    await tab.getByText(words.environmentEvents.kinds.secret_set).waitFor();
    for (const where of [await tab.content(), await keptIn(tab), ...(await Promise.all(answers))])
      assert.doesNotMatch(where, new RegExp(canary));
    assert.deepEqual(
      (await make(`/v1/environments/${id}/secrets`, undefined, 'GET')).secrets.map(({ name }: any) => name),
      ['DATABASE_URL'],
    );
    check();
  });

  test('an environment is renamed, put aside, and destroyed by its name alone; then its project may go', async () => {
    await using opened = await open('ro');
    const { tab, words, make, account, check } = opened;
    const project = await projectOf(t.gateway, account, { name: 'Magazin' });
    const id = await environmentOf(t.gateway, account, project);
    await show(opened, `/environments/${id}`);
    await choose(opened, words.environments.edit);
    await tab.getByLabel(words.name, { exact: true }).fill('Stația');
    await button(opened, words.save).click();
    await tab.getByRole('heading', { name: 'Stația', exact: true }).waitFor();
    await choose(opened, words.environments.archive);
    await button(opened, words.environments.archive).click();
    await tab.locator('.facts').getByText(words.environments.states.archived).waitFor();
    await tab.getByRole('link', { name: 'Magazin' }).click();
    await choose(opened, words.projects.delete);
    await tab.getByLabel(words.name, { exact: true }).fill('Magazin');
    await button(opened, words.projects.delete).click();
    await tab.getByText(words.errors.codes.project_has_environments).waitFor();
    await show(opened, `/environments/${id}`);
    await choose(opened, words.environments.destroy);
    assert.ok(await button(opened, words.environments.destroy).isDisabled());
    await tab.getByLabel(words.name, { exact: true }).fill('Stația');
    await button(opened, words.environments.destroy).click();
    await tab.waitForURL(`${origin}/hub/environments`);
    assert.equal((await make(`/v1/environments/${id}`, undefined, 'GET')).environment.state, 'destroyed');
    await tab.getByRole('link', { name: 'Magazin' }).click();
    await choose(opened, words.projects.delete);
    await tab.getByLabel(words.name, { exact: true }).fill('Magazin');
    await button(opened, words.projects.delete).click();
    await tab.waitForURL(`${origin}/hub/environments`);
    await tab.getByText(words.environments.empty).waitFor();
    check();
  });

  for (const [locale, size, colorScheme] of [
    ['ro', 'phone', 'dark'],
    ['en', 'screen', 'light'],
  ] as const)
    test(`every page of environments is whole and scrolls sideways at no size (${locale}, ${colorScheme})`, async () => {
      await using opened = await open(locale, size, { colorScheme });
      const { tab, make, account, check } = opened;
      const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe';
      const project = await projectOf(t.gateway, account, { name: hostile });
      const env = await enrolled(t.gateway, account);
      const path = `/v1/environments/${env.id}`;
      await make(path, { name: `${hostile}${'w'.repeat(60)}` }, 'PATCH');
      await make(`${path}/ports/3000`, { visibility: 'org', label: hostile }, 'PUT');
      await make(`${path}/secrets/${'A'.repeat(60)}`, { value: 'x' }, 'PUT');
      await using daemon = await serve(opened, env);
      daemon.tell({
        listeners: [{ port: 5432, pid: null, process: hostile }],
        git_state: { branch: 'b'.repeat(80), dirty: true, ahead: 1, behind: 20, worktrees: [] },
        locks: [{ name: hostile, holder: hostile, since: 0 }],
      });
      for (const page of ['/environments', `/environments/${env.id}`, `/projects/${project}`]) {
        await show(opened, page);
        const name = `${page.replace(/[0-9a-f-]{36}/, 'one')}.${locale}`;
        await checkLooks(tab, name, locale === 'en' ? 'all' : 'colors');
      }
      await show(opened, '/environments');
      await tab.getByText('[U+202E]gnp.exe').first().waitFor();
      check();
    });
});
