import { useEffect, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Loading } from '../../ui/State.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

type Made = Awaited<ReturnType<typeof api.environments.linkPort>>;
const isWeb = (url: string): boolean => /^https?:\/\//.test(url);

/** The address of a published port: of one that is not public it has a ticket in it, for one browser. */
export function PortLink({ id, port, onClose }: { id: string; port: number; onClose: () => void }) {
  const text = useWords().ports;
  const acts = useActs();
  const [made, setMade] = useState<Made>();
  useEffect(() => {
    void acts
      .run(async () => api.environments.linkPort({ params: { id, port } }))
      .then((link) => (link && isWeb(link.url) ? setMade(link) : onClose()));
  }, []);
  return (
    <Dialog title={`${text.link}: ${port}`} onClose={onClose}>
      {made === undefined ? (
        <Loading rows={2} />
      ) : (
        <div class="stack">
          <p>
            {made.expires_at === null ? (
              text.linkPublic
            ) : (
              <>
                {text.linkText} <Time at={made.expires_at} />
              </>
            )}
          </p>
          <a class="button primary" href={made.url} target="_blank" rel="noopener noreferrer" onClick={onClose}>
            {text.linkOpen}
          </a>
          <CopyText text={made.url} />
        </div>
      )}
    </Dialog>
  );
}
