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

/** An address for a port inside; it opens in a tab of its own, with an origin of its own. */
export function Preview({ id }: { id: string }) {
  const text = useWords().sandboxes;
  const acts = useActs();
  const [port, setPort] = useState('3000');
  const [made, setMade] = useState<Made>();
  const make = async (): Promise<void> => {
    const found = await acts.run(async () =>
      api.sandboxes.preview({ params: { id }, body: { port: Number(port), ttl_seconds: 3_600 } }),
    );
    if (found) setMade(found);
  };
  return (
    <Section title={text.preview}>
      <form
        class="stack form"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <TextField label={text.port} type="number" value={port} onInput={setPort} hint={text.previewText} />
        <div>
          <Button type="submit" onPress={make}>
            {text.makePreview}
          </Button>
        </div>
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
