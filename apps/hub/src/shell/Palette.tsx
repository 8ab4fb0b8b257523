import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../api/client.ts';
import type { NavEntry } from '../routes.ts';
import { Icon, type IconName } from '../ui/icons.tsx';
import { useWords } from '../words/words.tsx';

interface Choice {
  id: string;
  label: string;
  detail?: string;
  icon: IconName;
  to: string;
}

const waitMs = 120;
const icons: Record<string, IconName> = {
  heartbeat: 'monitors',
  schedule: 'schedules',
  machine: 'machines',
  sandbox: 'sandboxes',
  prompt: 'prompts',
  session: 'sessions',
  transcript: 'transcripts',
  environment: 'environments',
};

/** Names that the API finds, a moment after the last key. */
function useFound(text: string): Choice[] {
  const [found, setFound] = useState<Choice[]>([]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === '') return setFound([]);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api.overview.find({ query: { q: wanted, limit: 12 } }, { signal: stop.signal, retries: 0 }).then(
        ({ results }) =>
          setFound(
            results.map(({ kind, id, title, detail, href }) => ({
              id: `${kind}-${id}`,
              label: title,
              ...(detail !== undefined && { detail }),
              icon: icons[kind] ?? 'chevron',
              to: href,
            })),
          ),
        () => {},
      );
    }, waitMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return found;
}

/** Goes to a page, begins an act, or finds a record by its name (ARIA combobox pattern). */
export function Palette({ entries, onClose }: { entries: NavEntry[]; onClose: () => void }) {
  const words = useWords();
  const [, go] = useLocation();
  const listId = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const has = (label: string): boolean => label.toLowerCase().includes(text.trim().toLowerCase());
  const acts: Choice[] = [
    { id: 'new-monitor', label: words.monitors.new, icon: 'add', to: '/heartbeats/new' },
    { id: 'new-schedule', label: words.schedules.new, icon: 'add', to: '/schedules/new' },
  ];
  const fixed: Choice[] = [
    ...entries.map(({ name, to, icon }) => ({ id: `page-${to}`, label: words.nav[name], icon, to })),
    ...acts,
  ].filter(({ label }) => has(label));
  const choices = [...fixed, ...useFound(text)];
  const chosen = choices[Math.min(at, choices.length - 1)];
  const pick = (choice: Choice | undefined): void => {
    if (!choice) return;
    onClose();
    go(choice.to);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, choices.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter') pick(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={words.palette.title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <input
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={chosen && `${listId}-${chosen.id}`}
        aria-label={words.palette.title}
        placeholder={words.palette.placeholder}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id={listId} role="listbox" aria-label={words.palette.title}>
        {choices.map((choice, place) => (
          <li
            key={choice.id}
            id={`${listId}-${choice.id}`}
            role="option"
            aria-selected={choice === chosen}
            onClick={() => pick(choice)}
            onPointerMove={() => setAt(place)}
          >
            <Icon name={choice.icon} />
            <span>{choice.label}</span>
            {choice.detail !== undefined && <span class="hint">{choice.detail}</span>}
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p class="hint">{words.palette.nothing}</p>}
    </dialog>
  );
}
