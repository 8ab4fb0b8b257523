import type { ComponentProps } from 'preact';
import { navigate } from 'wouter-preact/use-browser-location';
import { hubPath } from '../api/client.ts';

/**
 * A link to a page of the hub; `href` begins with a slash. That of the router keeps the properties of its first drawing, and so
 * all rows of a list that were drawn then: a list that was scrolled kept every row that it ever showed.
 */
export const Link = ({ href, onClick, ...rest }: Omit<ComponentProps<'a'>, 'href' | 'onClick'> & LinkTo) => (
  <a {...rest} href={`${hubPath}${href}`} onClick={goesTo({ href, onClick })} />
);

interface LinkTo {
  href: string;
  /** Hears a press that goes there. */
  onClick?: (() => void) | undefined;
}

/** Goes there in this tab, unless the press asks the browser for something else. Holds nothing of what is drawn. */
const goesTo =
  ({ href, onClick }: LinkTo) =>
  (event: MouseEvent): void => {
    const { ctrlKey, metaKey, altKey, shiftKey, button, defaultPrevented } = event;
    if (ctrlKey || metaKey || altKey || shiftKey || button !== 0 || defaultPrevented) return;
    onClick?.();
    event.preventDefault();
    navigate(`${hubPath}${href}`);
  };
