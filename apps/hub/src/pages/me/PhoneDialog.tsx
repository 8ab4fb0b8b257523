import { useEffect, useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Qr } from '../../ui/Qr.tsx';
import { Loading } from '../../ui/State.tsx';
import { useWords } from '../../words/words.tsx';

type Link = Awaited<ReturnType<typeof api.me.createLink>>;
const lookEveryMs = 1_500;

/** Signs a phone in: it scans what this device shows, never the other way round, and this device picks its number. */
export function PhoneDialog({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const acts = useActs();
  const [link, setLink] = useState<Link>();
  useEffect(() => {
    void acts.run(async () => api.me.createLink({})).then((made) => (made ? setLink(made) : onClose()));
  }, []);
  return (
    <Dialog title={words.me.addPhone} onClose={onClose}>
      {link ? <Progress link={link} onClose={onClose} /> : <Loading rows={3} />}
    </Dialog>
  );
}

function Progress({ link, onClose }: { link: Link; onClose: () => void }) {
  const words = useWords();
  const text = words.me;
  const acts = useActs();
  const { data } = useAnswer(['phone-link', link.id], async () => api.me.getLink({ params: { id: link.id } }), {
    everyMs: lookEveryMs,
    kept: false,
  });
  const pick = async (number: number): Promise<void> => {
    const answer = await acts.run(async () => api.me.confirmLink({ params: { id: link.id }, body: { number } }), {
      stale: ['phone-link', 'me'],
    });
    if (answer?.confirmed === false) {
      acts.say(text.wrongNumber, { isProblem: true });
      onClose();
    }
  };
  if (data?.state === 'claimed' && data.numbers)
    return (
      <div class="stack">
        <p>{text.pickNumber(data.phone?.name ?? text.unnamed)}</p>
        <div class="pair">
          {data.numbers.map((number) => (
            <Button key={number} onPress={() => pick(number)}>
              {number}
            </Button>
          ))}
        </div>
      </div>
    );
  if (data?.state === 'confirmed' || data?.state === 'used')
    return (
      <p class="well" role="status">
        <Icon name="check" />
        {text.phoneIn}
      </p>
    );
  return (
    <div class="stack center">
      <p>{text.scan}</p>
      <Qr text={link.url} label={text.scan} />
      <p class="hint">{text.orType}</p>
      <p class="big-code">{link.code}</p>
    </div>
  );
}
