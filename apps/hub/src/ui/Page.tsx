import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useWords } from '../words/words.tsx';
import { Link } from './Link.tsx';
import { visible } from './marks.ts';

/** A page: its heading takes the focus when it opens, so that screen readers and keys begin there. */
export function Page({
  title,
  back,
  acts,
  lead,
  children,
  wide,
}: {
  title: string;
  /** Where it belongs to. */
  back?: { to: string; label: string };
  acts?: ComponentChildren;
  lead?: ComponentChildren;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const words = useWords();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title)} · ${words.brand}`;
  }, [title, words]);
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest('nav')) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return (
    <div class={wide ? 'page wide' : 'page'}>
      {back && (
        <Link href={back.to} class="back">
          ‹ {back.label}
        </Link>
      )}
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {acts && <div class="page-acts">{acts}</div>}
      </header>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </div>
  );
}

/** A part of a page with a heading. */
export const Section = ({
  title,
  acts,
  children,
}: {
  title: string;
  acts?: ComponentChildren;
  children: ComponentChildren;
}) => (
  <section class="section">
    <header class="section-head">
      <h2>{title}</h2>
      {acts}
    </header>
    {children}
  </section>
);
