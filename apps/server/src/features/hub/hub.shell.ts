import { createHash } from 'node:crypto';
import { type Locale, wordsOf } from '@svc/words';
import type { Config } from '../../config.ts';
import { alike } from '../../kernel/base/spellings.ts';
import { headersOf, html } from '../auth/index.ts';
import type { BuiltHub } from './hub.build.ts';

/** Pages of sandboxes and of published ports stand in frames of the hub. */
function frameSources({ previews }: HubSettings): string {
  return previews.length === 0 ? "'self'" : `'self' ${previews.join(' ')}`;
}

/** What the shell depends on beside its build. */
interface HubSettings {
  /** `{base_url}`, for "Copy as curl". */
  baseUrl: string;
  authUrl: string;
  /** Sources of `frame-src`. */
  previews: readonly string[];
  /** Path of relays, which every gateway answers on every name. */
  relayPath: string;
}

/** The settings that stand in the shell or its headers. */
export function settingsOf({ baseUrl, authUrl, relayUrl, previewDomain, previewPort }: Config): HubSettings {
  const { protocol } = new URL(baseUrl);
  const previews =
    previewDomain === undefined ? [`http://*.localhost:${previewPort}`] : [`${protocol}//*.${previewDomain}`];
  return { baseUrl, authUrl, previews, relayPath: new URL(relayUrl).pathname.replace(/\/$/, '') };
}

/** Headers of the shell (design: hub, Login and security). */
export function shellHeaders(settings: HubSettings): Record<string, string> {
  return {
    ...headersOf(settings),
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
      `connect-src 'self'; media-src 'self' blob:; frame-src ${frameSources(settings)}; worker-src 'self'; ` +
      "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
      "require-trusted-types-for 'script'",
    'cache-control': 'no-cache',
  };
}

/** Tells builds and settings apart: the service worker keeps the shell with its headers. */
export const versionOf = ({ hash }: BuiltHub, settings: HubSettings): string =>
  `${hash}-${createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 8)}`;

/** The one document of the hub: what it shows is asked for by its script. */
export function shellPage(
  build: BuiltHub,
  { locale, path, settings }: { locale: Locale; path: string; settings: HubSettings },
): string {
  const at = (name: string): string => `${path}/assets/${name}`;
  const { hub } = wordsOf(locale);
  return html`<!doctype html>
<html lang="${locale}" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f3f4f8" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#101218" media="(prefers-color-scheme: dark)">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
<meta name="svc-hub" content="${path}">
<meta name="svc-api" content="${settings.baseUrl}">
<title>svc</title>
<link rel="icon" href="${at('icon.svg')}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${at('icon-192.png')}">
<link rel="manifest" href="${path}/manifest.webmanifest">
<link rel="stylesheet" href="${at(build.style)}">
${build.preload.map((name) => html`<link rel="modulepreload" href="${at(name)}">\n`)}<script type="module" src="${at(build.entry)}"></script>
</head>
<body>
<div id="app"></div>
<noscript><p>${hub.needsScript}</p></noscript>
</body>
</html>
`.toString();
}

/**
 * Headers of a document in a frame. Terminal and editor put styles into their elements, which the shell forbids; in exchange
 * such a document stands alone, and nobody else may frame it.
 */
export function frameHeaders(settings: HubSettings): Record<string, string> {
  return {
    ...headersOf(settings),
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
      "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'",
    'x-frame-options': 'SAMEORIGIN',
    'cache-control': 'no-cache',
  };
}

/** A document in a frame; what it is about stands in its query. */
export function framePage(
  { entry, style }: BuiltHub['frames'][string],
  { locale, path, settings }: { locale: Locale; path: string; settings: HubSettings },
): string {
  return html`<!doctype html>
<html lang="${locale}" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="svc-hub" content="${path}">
<meta name="svc-api" content="${settings.baseUrl}">
<meta name="svc-relay" content="${settings.relayPath}">
<title>svc</title>
${style === undefined ? '' : html`<link rel="stylesheet" href="${path}/assets/${style}">\n`}<script type="module" src="${path}/assets/${entry}"></script>
</head>
<body></body>
</html>
`.toString();
}

/** The installed app, as browsers read it. */
export function manifestOf(path: string, locale: Locale): object {
  const icon = (name: string, sizes: string, purpose = 'any') => ({
    src: `${path}/assets/${name}`,
    sizes,
    purpose,
    type: name.endsWith('.svg') ? 'image/svg+xml' : 'image/png',
  });
  return {
    id: `${path}/`,
    name: 'svc',
    short_name: 'svc',
    lang: locale,
    start_url: `${path}/`,
    scope: `${path}/`,
    display: 'standalone',
    background_color: '#101218',
    theme_color: '#101218',
    icons: [
      icon('icon.svg', 'any'),
      icon('icon-192.png', '192x192'),
      icon('icon-512.png', '512x512'),
      icon('icon-maskable-512.png', '512x512', 'maskable'),
    ],
    // The service worker takes the file (`sw.ts` of the hub).
    share_target: {
      action: `${path}/share`,
      method: 'POST',
      enctype: 'multipart/form-data',
      params: { title: 'title', files: [{ name: 'file', accept: ['audio/*', 'video/mp4', 'video/webm'] }] },
    },
  };
}

/** `{hub_url}` in the spelling by which a browser came, without a slash at its end. */
export const pathOf = ({ hubUrl }: Pick<Config, 'hubUrl'>): string =>
  new URL(alike(hubUrl)[0] ?? hubUrl).pathname.replace(/\/$/, '');
