import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './Button.tsx';
import type { IconName } from './icons.tsx';

/** An act of a menu. */
export interface MenuItem {
  label: string;
  act: () => unknown;
  isDanger?: boolean;
}

/** How close to an edge of the window a menu may come, in pixels. */
const leastMargin = 8;

/** A button that opens a menu of acts (ARIA menu button pattern): arrows move, Escape closes, focus goes back. */
export function Menu({
  label,
  items,
  icon = 'more',
  hasWords = false,
}: {
  label: string;
  items: MenuItem[];
  icon?: IconName;
  /** The label is seen, too. */
  hasWords?: boolean;
}) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  // It ends where its button ends; where that is far to the left, as in a row that wrapped, it would begin outside of the window.
  useLayoutEffect(() => {
    if (!isOpen || !list.current) return;
    const over = leastMargin - list.current.getBoundingClientRect().left;
    if (over > 0) list.current.style.right = `${-over}px`;
  }, [isOpen]);
  const opener = (): HTMLButtonElement | null => box.current?.querySelector('button') ?? null;
  const entries = (): HTMLElement[] => [...(box.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  const open = (): void => {
    setOpen(true);
    requestAnimationFrame(() => entries()[0]?.focus());
  };
  const close = (): void => {
    setOpen(false);
    opener()?.focus();
  };
  const move = (event: KeyboardEvent): void => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === 'Escape') close();
    else if (event.key === 'Tab') setOpen(false);
    else if (to !== undefined) all.at(to % all.length)?.focus();
    else return;
    if (event.key !== 'Tab') event.preventDefault();
  };
  return (
    <div
      class="menu"
      ref={box}
      onFocusOut={(event) => {
        if (!box.current?.contains(event.relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <Button
        look={hasWords ? 'plain' : 'quiet'}
        icon={icon}
        isIconOnly={!hasWords}
        controls={id}
        expanded={isOpen}
        onPress={isOpen ? close : open}
      >
        {label}
      </Button>
      {isOpen && (
        <div class="menu-list" ref={list} role="menu" id={id} aria-label={label} onKeyDown={move}>
          {items.map(({ label: text, act, isDanger }) => (
            <button
              type="button"
              role="menuitem"
              tabIndex={-1}
              key={text}
              class={isDanger ? 'menu-item bad' : 'menu-item'}
              onClick={() => {
                close();
                act();
              }}
            >
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
