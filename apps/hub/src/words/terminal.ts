/** Texts of the terminal's own document. */
interface TerminalWords {
  label: string;
  connecting: string;
  open: string;
  ended: (code: string) => string;
  lost: (why: string) => string;
  refused: string;
  again: string;
  leave: string;
  keys: string;
  named: Record<'esc' | 'tab' | 'ctrl' | 'up' | 'down' | 'left' | 'right', string>;
}

const en: TerminalWords = {
  label: 'Terminal',
  connecting: 'Connecting…',
  open: 'Connected',
  ended: (code) => `The shell ended (${code})`,
  lost: (why) => (why === '' ? 'The connection is gone' : `Ended: ${why}`),
  refused: 'It could not be opened: it does not run, you may not, or there is no network',
  again: 'Open again',
  leave: 'Ctrl+M: the Tab key leaves the terminal, or types again',
  keys: 'Keys that a phone lacks',
  named: { esc: 'Esc', tab: 'Tab', ctrl: 'Ctrl', up: 'Up', down: 'Down', left: 'Left', right: 'Right' },
};
const ro: TerminalWords = {
  label: 'Terminal',
  connecting: 'Se conectează…',
  open: 'Conectat',
  ended: (code) => `Shell-ul s-a încheiat (${code})`,
  lost: (why) => (why === '' ? 'Legătura s-a pierdut' : `Încheiat: ${why}`),
  refused: 'Nu s-a putut deschide: nu rulează, nu ai voie sau nu este rețea',
  again: 'Deschide din nou',
  leave: 'Ctrl+M: tasta Tab iese din terminal sau scrie din nou',
  keys: 'Taste care lipsesc telefonului',
  named: { esc: 'Esc', tab: 'Tab', ctrl: 'Ctrl', up: 'Sus', down: 'Jos', left: 'Stânga', right: 'Dreapta' },
};

/** The texts in a language: this document stands alone and loads nothing else. */
export const wordsOfTerminal = (locale: string): TerminalWords => (locale === 'ro' ? ro : en);
