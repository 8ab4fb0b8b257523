import { useState } from 'preact/hooks';
import { api } from '../../api/client.ts';
import { fieldProblems } from '../../api/errors.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { useWords } from '../../words/words.tsx';

const topics = ['system', 'overview'];

/** Where backups go, as far as it may be chosen here. */
interface Chosen {
  place?: string | undefined;
  s3?: { endpoint?: string | undefined; region: string; access_key_id?: string | undefined } | undefined;
}

/** Asks where backups go; the place is tried before it is kept. The secret key of a bucket is typed anew each time. */
export function BackupPlace({ now, onClose }: { now: Chosen; onClose: () => void }) {
  const words = useWords();
  const text = words.system.backups;
  const acts = useActs();
  const [place, setPlace] = useState(now.place ?? '');
  const [endpoint, setEndpoint] = useState(now.s3?.endpoint ?? '');
  const [region, setRegion] = useState(now.s3?.region ?? '');
  const [keyId, setKeyId] = useState(now.s3?.access_key_id ?? '');
  const [secret, setSecret] = useState('');
  const [problems, setProblems] = useState<Record<string, string>>({});
  const isBucket = place.trim().startsWith('s3://');
  const bodyOf = () => ({
    place: place.trim(),
    ...(isBucket &&
      keyId !== '' && {
        s3: {
          access_key_id: keyId.trim(),
          secret_access_key: secret.trim(),
          ...(endpoint.trim() !== '' && { endpoint: endpoint.trim() }),
          ...(region.trim() !== '' && { region: region.trim() }),
        },
      }),
  });
  const keep = async (): Promise<void> => {
    setProblems({});
    const kept = await acts.run(
      async () => {
        try {
          return await api.system.setBackupPlace({ body: bodyOf() });
        } catch (error) {
          setProblems(fieldProblems(error, words));
          throw error;
        }
      },
      { done: text.placeKept, stale: topics },
    );
    if (kept) onClose();
  };
  return (
    <Dialog title={text.choose} onClose={onClose} wide>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
      >
        <TextField
          label={text.placeLabel}
          value={place}
          onInput={setPlace}
          hint={text.placeHint}
          problem={problems['place']}
          placeholder="/mnt/backup/svc"
          isCode
          required
        />
        {isBucket && (
          <>
            <p class="hint">{text.bucketHint}</p>
            <TextField
              label={text.endpoint}
              value={endpoint}
              onInput={setEndpoint}
              problem={problems['s3.endpoint']}
              isCode
            />
            <TextField label={text.region} value={region} onInput={setRegion} problem={problems['s3.region']} isCode />
            <TextField
              label={text.keyId}
              value={keyId}
              onInput={setKeyId}
              problem={problems['s3.access_key_id']}
              isCode
            />
            <TextField
              label={text.secretKey}
              type="password"
              value={secret}
              onInput={setSecret}
              hint={text.secretHint}
              problem={problems['s3.secret_access_key']}
              required={keyId !== ''}
            />
          </>
        )}
        <Button look="primary" type="submit">
          {text.tryPlace}
        </Button>
      </form>
    </Dialog>
  );
}
