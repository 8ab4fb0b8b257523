import { createHash } from 'node:crypto';

/** The one style of the pages that strangers see; its hash stands in their policy, so no other style applies. */
export const sharePageStyle = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --pale: #5b6573; --hair: #e1e5ea; --accent: #1f4a7a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e7eaee; --pale: #9ba5b2; --hair: #2b3138; --accent: #8db9ea; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 3rem; max-width: 46rem; background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif; overflow-wrap: anywhere; }
h1, h2, p, ul, dl, dd { margin: 0; }
h1 { font-size: clamp(1.6rem, 1.2rem + 2vw, 2.2rem); line-height: 1.2; font-weight: 700; letter-spacing: -0.01em; }
h2 { margin: 2.5rem 0 0.75rem; font-size: 1.2rem; line-height: 1.3; color: var(--accent); }
.kind { margin-bottom: 0.4rem; color: var(--pale); font-size: 0.875rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; margin-top: 1.1rem; font-size: 0.9375rem; }
dt { color: var(--pale); }
header { padding-bottom: 1.5rem; border-bottom: 1px solid var(--hair); }
section > p + p { margin-top: 0.75rem; }
ul { padding-inline-start: 1.25rem; }
li + li { margin-top: 0.4rem; }
li::marker { color: var(--accent); }
.owner { color: var(--pale); }
.turn { margin-top: 1.4rem; }
.who { font-weight: 650; margin-bottom: 0.1rem; }
.said { display: grid; grid-template-columns: 4.6rem 1fr; gap: 0 0.75rem; }
.said + .said { margin-top: 0.3rem; }
.said time, .who { font-variant-numeric: tabular-nums; }
.said time { color: var(--pale); font-size: 0.8125rem; line-height: 1.7rem; white-space: nowrap; justify-self: start; }
.who { padding-inline-start: 5.35rem; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--hair); color: var(--pale); font-size: 0.875rem; }
.empty { padding: 20vh 0 0; border: 0; text-align: center; }
.empty p { margin: 1rem auto 0; max-width: 28rem; color: var(--pale); }
@media (max-width: 34rem) {
  body { padding-top: 1.5rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd + dt { margin-top: 0.5rem; }
  .who { padding-inline-start: 0; }
  .said { grid-template-columns: 1fr; }
  .said + .said { margin-top: 0.5rem; }
  .said time { line-height: 1.4; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --pale: #444; --hair: #bbb; --accent: #000; }
  @page { margin: 18mm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; line-height: 1.45; }
  h2 { break-after: avoid; }
  .who { break-after: avoid; }
  .said { break-inside: avoid; }
}
`;

/**
 * `content-security-policy` of the share page and of the page for a link that leads nowhere: no script, no request, no
 * frame, no form, and the one style above.
 */
export const SHARE_PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(sharePageStyle).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
