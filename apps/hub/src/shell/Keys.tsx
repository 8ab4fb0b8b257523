import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import type { NavEntry } from '../routes.ts';
import { CheckField } from '../ui/Field.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { areSingleKeysOn, isTyping, keepSingleKeys } from '../ui/keys.ts';
import { useWords } from '../words/words.tsx';

const chordMs = 1_500;

/** Moves the focus among the rows of the page's list. */
function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main .rows > li a.row-link')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows.at(at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step)))?.focus();
}

/** Keys of every page, and the dialog that tells them. */
export function Keys({ entries, onPalette }: { entries: NavEntry[]; onPalette: () => void }) {
  const [, go] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const chordAt = useRef(0);
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        return onPalette();
      }
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isPlain || !areSingleKeysOn() || isTyping(event.target) || document.querySelector('dialog[open]')) return;
      const page = entries.find(({ goKey }) => goKey === event.key);
      if (page && Date.now() - chordAt.current < chordMs) go(page.to);
      else if (event.key === 'g') chordAt.current = Date.now();
      else if (event.key === '?') setOpen(true);
      else if (event.key === 'j') moveRow(1);
      else if (event.key === 'k') moveRow(-1);
      else if (event.key === '/') document.querySelector<HTMLElement>('main input[type=search]')?.focus();
      else return;
      if (event.key !== 'g') event.preventDefault();
    };
    document.addEventListener('keydown', hear);
    return () => document.removeEventListener('keydown', hear);
  }, [entries, go, onPalette]);
  return isOpen ? <KeysDialog entries={entries} onClose={() => setOpen(false)} /> : null;
}

function KeysDialog({ entries, onClose }: { entries: NavEntry[]; onClose: () => void }) {
  const words = useWords();
  const text = words.shortcuts;
  const player = words.transcripts.keys;
  const [isOn, setOn] = useState(areSingleKeysOn);
  const keys: [string, string][] = [
    ['?', text.help],
    ['Ctrl K', text.palette],
    ['/', text.search],
    ['j', text.nextRow],
    ['k', text.previousRow],
    ['Enter', text.openRow],
    ['Esc', text.dismiss],
    ...(entries.some(({ name }) => name === 'transcripts')
      ? ([
          [player.space, player.toggle],
          ['← →', player.skip],
          ['< >', player.speed],
        ] as [string, string][])
      : []),
    ...entries.flatMap(({ goKey, name }): [string, string][] =>
      goKey === undefined ? [] : [[`g ${goKey}`, text.goTo(words.nav[name])]],
    ),
  ];
  return (
    <Dialog title={text.title} onClose={onClose}>
      <dl class="keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <CheckField
        label={text.singleKeys}
        checked={isOn}
        onChange={(checked) => {
          setOn(checked);
          keepSingleKeys(checked);
        }}
      />
    </Dialog>
  );
}
