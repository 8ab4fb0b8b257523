import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useWords } from '../words/words.tsx';
import { Button } from './Button.tsx';
import { Toasts } from './toasts.tsx';

/** A dialog over the page. The browser puts the focus into it and gives it back when it closes. */
export function Dialog({
  title,
  onClose,
  children,
  wide,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const words = useWords();
  const id = useId();
  const ref = useRef<HTMLDialogElement>(null);
  // A selection that begins in a field may end beside the dialog: that is no press on what is behind.
  const isPressedBehind = useRef(false);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        isPressedBehind.current = event.target === ref.current;
      }}
      onClick={(event) => event.target === ref.current && isPressedBehind.current && onClose()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <Button look="quiet" icon="close" isIconOnly onPress={onClose}>
            {words.close}
          </Button>
        </header>
        {children}
      </div>
      <Toasts dialog={id} />
    </dialog>
  );
}
