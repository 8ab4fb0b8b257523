import { useEffect, useRef } from 'preact/hooks';
import { hubPath } from '../api/client.ts';
import { useLocale } from '../words/words.tsx';

/** Taller than any screen; a frame asks for what it needs, and gets no more. */
const mostHeight = 4_000;

/**
 * A document of the hub that stands in a frame (`src/frames`), such as a terminal: `name` is that of the document, `query` says
 * what it is about. `isAsTall`: it is as high as its content. `onRefused`: the server did not let it in.
 */
export function Frame({
  name,
  query,
  title,
  isAsTall = false,
  onRefused,
}: {
  name: 'terminal' | 'cells';
  query: Record<string, string>;
  title: string;
  isAsTall?: boolean;
  onRefused?: () => void;
}) {
  const { locale } = useLocale();
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const hear = ({ source, origin, data }: MessageEvent): void => {
      const { current } = frame;
      if (!current || source !== current.contentWindow || origin !== location.origin) return;
      const { height: asked, refused } = (data ?? {}) as { height?: unknown; refused?: unknown };
      if (refused === true) onRefused?.();
      const height = Number(asked);
      if (isAsTall && height > 0) current.style.height = `${Math.min(Math.ceil(height), mostHeight)}px`;
    };
    addEventListener('message', hear);
    return () => removeEventListener('message', hear);
  }, [isAsTall, onRefused]);
  return (
    <iframe
      ref={frame}
      class={`frame ${name}-frame`}
      title={title}
      src={`${hubPath}/frame/${name}?${new URLSearchParams({ ...query, locale })}`}
    />
  );
}
