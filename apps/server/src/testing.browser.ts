import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';

/** The build without windows draws in half of the processes and starts in half of the time; the other one does as well. */
const executablePath = spawnSync('sh', ['-c', 'command -v chromium-headless-shell || command -v chromium'], {
  encoding: 'utf8',
}).stdout.trim();

/** Why tests with a browser are skipped; false: there is one. */
export const noBrowser = executablePath === '' && 'no chromium on this machine';

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
export const launchBrowser = (args: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath, args: [...quiet, ...args] });
