import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icons.tsx';
import { Link } from './Link.tsx';

type Look = 'primary' | 'plain' | 'danger' | 'quiet';
interface Common {
  children: ComponentChildren;
  look?: Look;
  icon?: IconName;
  /** The icon alone is seen; the words are read aloud. */
  isIconOnly?: boolean;
}

/** What stands in a button. */
const Face = ({ icon, isIconOnly, children }: Common) => (
  <>
    {icon && <Icon name={icon} />}
    <span class={isIconOnly ? 'unseen' : undefined}>{children}</span>
  </>
);
const classOf = ({ look = 'plain', isIconOnly }: Common): string => `button ${look}${isIconOnly ? ' square' : ''}`;

/** A button; while what it began is under way it takes no second press. */
export function Button({
  onPress,
  disabled,
  type = 'button',
  controls,
  expanded,
  ...common
}: Common & {
  onPress?: (event: MouseEvent) => unknown;
  disabled?: boolean;
  type?: 'button' | 'submit';
  controls?: string;
  expanded?: boolean;
}) {
  const [isBusy, setBusy] = useState(false);
  const isHere = useRef(true);
  const press = async (event: MouseEvent): Promise<void> => {
    if (isBusy || !onPress) return;
    const result = onPress(event);
    if (!(result instanceof Promise)) return;
    setBusy(true);
    try {
      await result;
    } finally {
      if (isHere.current) setBusy(false);
    }
  };
  return (
    <button
      type={type}
      class={classOf(common)}
      disabled={disabled}
      aria-busy={isBusy || undefined}
      aria-controls={controls}
      aria-expanded={expanded}
      onClick={(event) => void press(event)}
    >
      <Face {...common} />
    </button>
  );
}

/** A link to another page of the hub that looks like a button. */
export const ButtonLink = ({ to, ...common }: Common & { to: string }) => (
  <Link href={to} class={classOf(common)}>
    <Face {...common} />
  </Link>
);
