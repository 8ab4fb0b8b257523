import { ConfigError } from './config.error.ts';

/** In the data dir: settings that every command finds, whatever terminal it is in. */
export const settingsFileName = 'settings.env';

/**
 * A value behind `=`: what quotes enclose, which drops them, else all until a blank and `#`. Without that a folder is made that
 * is called as its comment; a `#` within a word is part of a password.
 */
function valueOf(blank: string, written: string): string {
  if (blank !== '' && written.startsWith('#')) return '';
  const [, , inner] = /^(["'])(.*?)\1(?:\s+#.*)?$/.exec(written) ?? /^(["'])(.*)\1$/.exec(written) ?? [];
  return inner ?? written.replace(/\s+#.*$/, '');
}

/** Reads a settings file: `SVC_X=value` a line, `#` after a blank begins a comment, quotes around a value are dropped. */
export function parseSettings(text: string, file: string): Record<string, string> {
  const lines = text.split(/\r?\n/).map((line, index) => ({ line: line.trim(), number: index + 1 }));
  return Object.fromEntries(
    lines
      .filter(({ line }) => line !== '' && !line.startsWith('#'))
      .map(({ line, number }) => {
        const [, name, blank = '', value = ''] = /^(SVC_[A-Z0-9_]+)\s*=(\s*)(.*)$/.exec(line) ?? [];
        // The line is not repeated: it may hold a secret.
        if (name === undefined) throw new ConfigError(`${file}: line ${number} must look like SVC_PORT=8080`);
        if (name === 'SVC_DATA_DIR')
          throw new ConfigError(`${file}: SVC_DATA_DIR says where this file is; set it outside`);
        return [name, valueOf(blank, value)];
      }),
  );
}
