import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Clock } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Made = Awaited<ReturnType<typeof api.sandboxes.preview>>;
const isWeb = (url: string): boolean => /^https?:\/\//.test(url);

/** What a page inside may do in a frame: all of its own, but it moves neither our page nor itself over it. */
const allowed = 'allow-scripts allow-same-origin allow-forms allow-popups allow-modals allow-downloads';

/** A port inside, in a frame or a tab; its address has an origin of its own. */
export function Preview({ id, desktop }: { id: string; desktop?: number | undefined }) {
  const text = useWords().sandboxes;
  const acts = useActs();
  const [port, setPort] = useState(String(desktop ?? 3_000));
  const [made, setMade] = useState<Made>();
  const make = async (): Promise<void> => {
    const found = await acts.run(async () =>
      api.sandboxes.preview({ params: { id }, body: { port: Number(port), ttl_seconds: 3_600 } }),
    );
    if (found) setMade(found);
  };
  return (
    <Section title={desktop === undefined ? text.preview : text.desktop}>
      <form
        class="stack form"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <TextField label={text.port} type="number" value={port} onInput={setPort} hint={text.previewText} />
        <div>
          <Button type="submit" onPress={make}>
            {desktop === undefined ? text.makePreview : text.showDesktop}
          </Button>
        </div>
        {made && isWeb(made.url) && (
          <iframe
            class="frame preview-frame"
            title={text.previewOf(String(made.port))}
            src={made.url}
            sandbox={allowed}
            referrerpolicy="no-referrer"
          />
        )}
        {made && isWeb(made.url) && (
          <p class="facts">
            <a class="button plain" href={made.url} target="_blank" rel="noopener noreferrer">
              {text.openPreview}
            </a>
            <span class="hint">
              {made.port}, {text.until} <Clock at={made.expires_at} />
            </span>
          </p>
        )}
      </form>
    </Section>
  );
}
