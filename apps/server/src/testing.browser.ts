import { spawnSync } from 'node:child_process';
import { type Browser, chromium, type Page } from 'playwright-core';
import { hangMs } from './testing.ts';

const pathOf = (...names: string[]): string =>
  spawnSync('sh', ['-c', names.map((name) => `command -v ${name}`).join(' || ')], { encoding: 'utf8' }).stdout.trim();

/** The build without windows draws in half of the processes and starts in half of the time; the other one does as well. */
const executablePath = pathOf('chromium-headless-shell', 'chromium');
const wholePath = pathOf('chromium');

/** Why tests with a browser are skipped; false: there is one. */
export const noBrowser = executablePath === '' && 'no chromium on this machine';
/** Of tests with a browser that shows notifications. */
export const noWholeBrowser = wholePath === '' && 'no chromium with windows on this machine';

/** It asks nobody by itself, and draws without an imitation of a graphics card. */
const quiet = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-gpu',
  '--disable-software-rasterizer',
];

/** Starts Chromium, for a test to close. `args` are switches beside those of every test. */
export const launchBrowser = (args: readonly string[] = []): Promise<Browser> => launch(executablePath, args);

/** Starts the Chromium that shows notifications: the other build takes pushes and shows none. */
export const launchWholeBrowser = (): Promise<Browser> => launch(wholePath, []);

async function launch(path: string, args: readonly string[]): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: path, args: [...quiet, ...args] });
  const newContext = browser.newContext.bind(browser);
  const newPage = browser.newPage.bind(browser);
  // A busy machine is slow, and slow is no failure.
  const patient = <T extends { setDefaultTimeout(ms: number): void }>(opened: T): T => {
    opened.setDefaultTimeout(hangMs);
    return opened;
  };
  browser.newContext = (options) => newContext(options).then(patient);
  browser.newPage = (options) => newPage(options).then(patient);
  return browser;
}

/**
 * Turns to a page of the hub as its links do, so that nothing is loaded anew. It is drawn, and may wait for answers.
 */
export const turn = (tab: Page, path: string): Promise<void> =>
  tab.evaluate((to) => {
    const { history } = globalThis as unknown as { history: { pushState(state: null, title: '', to: string): void } };
    history.pushState(null, '', to);
    return new Promise<void>((drawn) => void setTimeout(drawn));
  }, `/hub${path}`);
