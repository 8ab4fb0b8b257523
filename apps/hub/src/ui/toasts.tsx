import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';

/** A sentence in the corner, for some seconds. */
export interface Toast {
  id: number;
  text: string;
  isProblem: boolean;
  undo?: () => unknown;
}

/** What stands in the corner, and the dialogs that are open, the newest last. */
interface Corner {
  toasts: Toast[];
  drop: (id: number) => void;
  dialogs: readonly string[];
  /** Says that a dialog opened; answers how to say that it closed. */
  enter: (dialog: string) => () => void;
}

export const CornerContext = createContext<Corner | undefined>(undefined);

/**
 * The sentences in the corner, of the page or of a `dialog` in it: what stands behind an open dialog is inert, so nobody can press it
 * and no screen reader says it. The newest dialog has them, else the page.
 */
export function Toasts({ dialog }: { dialog?: string }) {
  const words = useWords();
  const corner = useContext(CornerContext);
  useEffect(() => (dialog === undefined ? undefined : corner?.enter(dialog)), [dialog]);
  if (!corner) return null;
  const { toasts, drop, dialogs } = corner;
  return (
    <div class="toasts" role="status" aria-live="polite">
      {(dialogs.at(-1) === dialog ? toasts : []).map(({ id, text, isProblem, undo }) => (
        <div class={isProblem ? 'toast bad' : 'toast'} key={id}>
          <span>{text}</span>
          {undo && (
            <Button
              look="quiet"
              onPress={() => {
                drop(id);
                return undo();
              }}
            >
              {words.undo}
            </Button>
          )}
          <Button look="quiet" icon="close" isIconOnly onPress={() => drop(id)}>
            {words.close}
          </Button>
        </div>
      ))}
    </div>
  );
}
