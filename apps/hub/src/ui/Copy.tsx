import { useState } from 'preact/hooks';
import { apiUrl } from '../api/client.ts';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';

const saidMs = 2_000;

/** Puts a text into the clipboard; a page of plain http has none, so it selects the text there. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** A button that copies a text and says so. */
export function CopyButton({
  text,
  label,
  look,
}: {
  /** A long one is made when it is asked for. */
  text: string | (() => string);
  label?: string;
  look?: 'primary' | 'plain' | 'quiet';
}) {
  const words = useWords();
  const [state, setState] = useState<'copied' | 'failed'>();
  const press = async (): Promise<void> => {
    setState((await copy(typeof text === 'string' ? text : text())) ? 'copied' : 'failed');
    setTimeout(() => setState(undefined), saidMs);
  };
  return (
    <Button icon={state === 'copied' ? 'check' : 'copy'} look={look ?? 'plain'} onPress={press}>
      {state === 'copied' ? words.copied : state === 'failed' ? words.notCopied : (label ?? words.copy)}
    </Button>
  );
}

/** A line or more to paste somewhere else. */
export const CopyText = ({ text, label }: { text: string; label?: string }) => (
  <div class="copy-text">
    <pre tabIndex={0}>{text}</pre>
    <CopyButton text={text} {...(label !== undefined && { label })} />
  </div>
);

/** A text as one word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The call of the API that the page or the act stands for, as a line for a shell. */
export function CurlButton({ method = 'GET', path, body }: { method?: string; path: string; body?: unknown }) {
  const words = useWords();
  const parts = [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    quoted(`${apiUrl}${path}`),
    '-H "authorization: Bearer $SVC_API_KEY"',
    ...(body === undefined ? [] : ["-H 'content-type: application/json'", '-d', quoted(JSON.stringify(body))]),
  ];
  return <CopyButton text={parts.join(' ')} label={words.curl} look="quiet" />;
}
