import { useState } from 'preact/hooks';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';
import { Dialog } from './Dialog.tsx';
import { TextField } from './Field.tsx';

/** Asks for the name of what is destroyed: nobody types a name by accident. */
export function DeleteDialog({
  name,
  text,
  onDelete,
  onClose,
  label,
}: {
  name: string;
  text: string;
  onDelete: () => Promise<unknown>;
  onClose: () => void;
  /** Of the button; by default "Delete". */
  label?: string;
}) {
  const words = useWords();
  const [typed, setTyped] = useState('');
  const act = label ?? words.monitors.delete;
  return (
    <Dialog title={act} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() === name.trim()) void onDelete();
        }}
      >
        <p>{text}</p>
        <TextField label={words.name} value={typed} onInput={setTyped} />
        <Button look="danger" type="submit" disabled={typed.trim() !== name.trim()}>
          {act}
        </Button>
      </form>
    </Dialog>
  );
}
