import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Screen } from './config.ts';

/** A browser that was asked to show an address. */
interface Opening {
  /** Whether one has taken it. A browser that stays in the foreground answers when it is closed. */
  taken: Promise<boolean>;
  /** Lets this process end before the browser does. */
  leave(): void;
}

/** Has a browser of this machine show an address: those of `BROWSER` in their order, else the system's. */
export function openInBrowser(
  url: string,
  { browsers, environment }: Pick<Screen, 'browsers' | 'environment'>,
): Opening {
  let leave = (): void => {};
  let hasLeft = false;
  const start = async (words: readonly string[]): Promise<boolean> => {
    const [program = '', ...args] = words;
    // In a group of its own: Ctrl-C at this terminal is not meant for it.
    const isApart = process.platform !== 'win32';
    const child = spawn(program, args, { stdio: 'ignore', detached: isApart, env: environment });
    leave = () => child.unref();
    try {
      const [code] = (await once(child, 'close')) as [number | null];
      return code === 0;
    } catch {
      return false;
    }
  };
  const tryAll = async (): Promise<boolean> => {
    if (!/^https?:/.test(url)) return false;
    for (const words of commandsFor(url, browsers)) {
      if (hasLeft) return false;
      if (await start(words)) return true;
    }
    return false;
  };
  return {
    taken: tryAll(),
    leave() {
      hasLeft = true;
      leave();
    },
  };
}

/** The commands that may show an address, as words; `%s` in one of `BROWSER` stands for the address. */
export function commandsFor(
  url: string,
  browsers: readonly string[],
  platform: NodeJS.Platform = process.platform,
): string[][] {
  const named = browsers.map((line) => {
    const words = line.trim().split(/\s+/);
    return line.includes('%s') ? words.map((word) => word.replaceAll('%s', () => url)) : [...words, url];
  });
  const ofSystem =
    platform === 'darwin'
      ? ['open', url]
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url];
  return [...named, ofSystem];
}
