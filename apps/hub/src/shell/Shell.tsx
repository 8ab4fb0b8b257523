import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import type { Me } from '../api/me.ts';
import { menu, type NavEntry } from '../routes.ts';
import { Button } from '../ui/Button.tsx';
import { Icon } from '../ui/icons.tsx';
import { Link } from '../ui/Link.tsx';
import { useWords } from '../words/words.tsx';
import { Keys } from './Keys.tsx';
import { Palette } from './Palette.tsx';
import { NewBuild, Strip } from './Strip.tsx';

/** Entries that this person has. */
export const entriesOf = (me: Me | undefined): NavEntry[] =>
  menu.filter(
    ({ feature, isForOperator }) =>
      (feature === undefined || me?.features[feature] !== false) && (!isForOperator || me?.operator === true),
  );

const inBar = 4;

/** What stands around every page: menu, strip of what is wrong with the connection, palette and keys. */
export function Shell({ me, unread, children }: { me: Me | undefined; unread: number; children: ComponentChildren }) {
  const words = useWords();
  const [path] = useLocation();
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const entries = entriesOf(me);
  const isCurrent = ({ to }: NavEntry): boolean => (to === '/' ? path === '/' : path.startsWith(to));
  const link = (entry: NavEntry) => (
    <Link
      key={entry.to}
      href={entry.to}
      class="nav-link"
      aria-current={isCurrent(entry) ? 'page' : undefined}
      onClick={() => setMenuOpen(false)}
    >
      <Icon name={entry.icon} />
      <span>{words.nav[entry.name]}</span>
      {entry.name === 'notifications' && unread > 0 && <span class="badge">{unread > 99 ? '99+' : unread}</span>}
    </Link>
  );
  return (
    <div class="shell">
      <a class="skip" href="#content">
        {words.skipToContent}
      </a>
      <header class="top">
        <Link href="/" class="brand">
          <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
            <rect width="24" height="24" rx="6" />
            <path d="M5 12h3l2-5 4 10 2-5h3" />
          </svg>
          {words.brand}
        </Link>
        <Button look="quiet" icon="search" isIconOnly onPress={() => setPaletteOpen(true)}>
          {words.palette.title}
        </Button>
      </header>
      <nav class="side" aria-label={words.mainMenu}>
        {entries.map(link)}
      </nav>
      <nav class="bar" aria-label={words.mainMenu}>
        {entries.slice(0, inBar).map(link)}
        <button
          type="button"
          class="nav-link"
          aria-expanded={isMenuOpen}
          aria-controls="more-menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name="more" />
          <span>{words.nav.more}</span>
        </button>
      </nav>
      {isMenuOpen && (
        <nav class="sheet" id="more-menu" aria-label={words.nav.more}>
          {entries.slice(inBar).map(link)}
        </nav>
      )}
      <main id="content" tabIndex={-1}>
        <Strip />
        <NewBuild />
        {children}
      </main>
      {isPaletteOpen && <Palette entries={entries} onClose={() => setPaletteOpen(false)} />}
      <Keys entries={entries} onPalette={() => setPaletteOpen(true)} />
    </div>
  );
}
