import { scopeWords } from '@svc/words';
import { useLocale, useWords } from '../words/words.tsx';

/** What a key or an app may do, in words. */
export function Scopes({ scopes }: { scopes: readonly string[] }) {
  const words = useWords();
  const { locale } = useLocale();
  // One scope that is all of them is no single thing.
  if (scopes.includes('*')) return <p class="hint">{words.keys.mayAll}</p>;
  return (
    <details class="scopes">
      <summary>{words.keys.may(scopes.length)}</summary>
      <ul>
        {scopes.map((scope) => (
          <li key={scope}>{scopeWords(scope, locale).text}</li>
        ))}
      </ul>
    </details>
  );
}
