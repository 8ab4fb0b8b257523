import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import '../../style/tokens.css';
import '../../style/frames.css';
import { applyTheme, themeHere } from '../../ui/theme.ts';
import { wordsOfTerminal } from '../../words/terminal.ts';
import { terminalPath, typedBy, withCtrl } from './terminal.rules.ts';

/*
 * A document of its own, in a frame: the terminal needs inline styles, which the hub's pages do not allow, and what programs print
 * stays away from them (design: hub, Login and security).
 */

document.documentElement.lang = new URLSearchParams(location.search).get('locale') === 'ro' ? 'ro' : 'en';
const words = wordsOfTerminal(document.documentElement.lang);
const relayPath = document.querySelector<HTMLMetaElement>('meta[name="svc-relay"]')?.content ?? '';
const path = terminalPath(location.search, relayPath);
/** Lines. */
const scrollback = 5_000;
/** Bytes that wait for the screen; a browser reads a WebSocket on whatever its page does, so what is over that is left out. */
const mostWaiting = 16 * 1024 * 1024;

const make = <K extends keyof HTMLElementTagNameMap>(tag: K, of: object): HTMLElementTagNameMap[K] =>
  Object.assign(document.createElement(tag), of);

applyTheme(themeHere());
const screen = make('div', { className: 'screen' });
const bar = make('div', { className: 'bar' });
const state = make('p', { className: 'state', textContent: words.connecting });
const again = make('button', { type: 'button', textContent: words.again, hidden: true });
const hint = make('p', { className: 'hint', textContent: words.leave });
state.setAttribute('role', 'status');
document.body.append(screen, bar);
bar.append(state, again, keyBar(), hint);

const { backgroundColor: background, color: foreground } = getComputedStyle(screen);
const terminal = new Terminal({
  fontFamily: 'ui-monospace, "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSize: 14,
  scrollback,
  screenReaderMode: true,
  cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
  // Programs may ask for any title and for a link; both stay text.
  linkHandler: { activate: () => {} },
  theme: { background, foreground, cursor: foreground, cursorAccent: background, selectionBackground: '#7a8cff66' },
  // Colours of programs are made for dark screens.
  minimumContrastRatio: 4.5,
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(screen);
terminal.textarea?.setAttribute('aria-label', words.label);

let socket: WebSocket | undefined;
let isCtrl = false;
/** Tab leaves the terminal: else the keyboard could not. */
let leavesByTab = false;

terminal.attachCustomKeyEventHandler((event) => {
  if (event.type === 'keydown' && event.ctrlKey && event.key === 'm') {
    leavesByTab = !leavesByTab;
    document.body.classList.toggle('leaves', leavesByTab);
    event.preventDefault();
    return false;
  }
  return !(leavesByTab && event.key === 'Tab');
});
terminal.onData((data) => type(isCtrl ? withCtrl(data) : data));
terminal.onResize(({ cols, rows }) => send(JSON.stringify({ resize: { cols, rows } })));
new ResizeObserver(() => fit.fit()).observe(screen);
again.addEventListener('click', connect);
addEventListener('pagehide', () => socket?.close());
connect();

function send(data: string | Uint8Array<ArrayBuffer>): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(data);
}

function type(data: string): void {
  setCtrl(false);
  send(new TextEncoder().encode(data));
}

/** Opens it, or opens it again: what is on the screen stays. */
function connect(): void {
  if (path === undefined) return ended(words.refused);
  state.textContent = words.connecting;
  again.hidden = true;
  fit.fit();
  const { cols, rows } = terminal;
  const made = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${path}cols=${cols}&rows=${rows}`);
  socket = made;
  made.binaryType = 'arraybuffer';
  let isOpen = false;
  let end: string | undefined;
  made.addEventListener('open', () => {
    isOpen = true;
    state.textContent = words.open;
    terminal.focus();
  });
  made.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data !== 'string') return show(new Uint8Array(data));
    const { exit_code: code, signal } = JSON.parse(data) as { exit_code: number | null; signal?: string | null };
    end = words.ended(signal ?? String(code ?? '–'));
  });
  made.addEventListener('close', ({ reason }) => {
    if (socket !== made) return;
    ended(end ?? (isOpen ? words.lost(reason) : words.refused));
    if (!isOpen) parent.postMessage({ refused: true }, location.origin);
  });
}

let waiting = 0;
function show(bytes: Uint8Array): void {
  if (waiting > mostWaiting) return;
  waiting += bytes.length;
  terminal.write(bytes, () => (waiting -= bytes.length));
}

function ended(text: string): void {
  state.textContent = text;
  again.hidden = path === undefined;
}

function setCtrl(isOn: boolean): void {
  isCtrl = isOn;
  document.querySelector('[data-key="ctrl"]')?.setAttribute('aria-pressed', String(isOn));
}

/** Keys that phones lack. Ctrl counts for the next one. */
function keyBar(): HTMLElement {
  const keys = make('div', { className: 'keys', role: 'group', ariaLabel: words.keys });
  for (const [key, sign] of Object.entries({
    esc: 'Esc',
    tab: 'Tab',
    ctrl: 'Ctrl',
    up: '↑',
    down: '↓',
    left: '←',
    right: '→',
  })) {
    const button = make('button', { type: 'button', textContent: sign });
    button.dataset['key'] = key;
    button.setAttribute('aria-label', words.named[key as keyof typeof words.named]);
    if (key === 'ctrl') button.setAttribute('aria-pressed', 'false');
    // The keyboard of a phone stays open.
    button.addEventListener('pointerdown', (event) => event.preventDefault());
    button.addEventListener('click', () => {
      if (key === 'ctrl') setCtrl(!isCtrl);
      else type(typedBy(key, terminal.modes.applicationCursorKeysMode));
      terminal.focus();
    });
    keys.append(button);
  }
  return keys;
}
