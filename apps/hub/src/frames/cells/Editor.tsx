import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { python } from '@codemirror/lang-python';
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'preact/hooks';

const colors = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--accent)' },
    { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
    { tag: tags.comment, color: 'var(--pale)', fontStyle: 'italic' },
    { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: 'var(--accent-strong)' },
    { tag: tags.invalid, color: 'var(--bad)' },
  ]),
);
const look = EditorView.theme({
  '&': {
    color: 'var(--ink)',
    backgroundColor: 'var(--paper)',
    border: '1px solid var(--edge)',
    borderRadius: '0.625rem',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '2px' },
  '.cm-content': { fontFamily: 'var(--mono)', fontSize: '0.875rem', minHeight: '6rem', caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--pale)', backgroundColor: 'transparent', border: 'none' },
  '&.cm-focused .cm-selectionBackground, ::selection': { backgroundColor: 'var(--accent-back)' },
});

/** An editor of Python. Tab goes on to the next control, as everywhere; Ctrl-Enter runs. */
export function Editor({
  label,
  value,
  onInput,
  onRun,
}: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  onRun: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const hear = useRef({ onInput, onRun });
  hear.current = { onInput, onRun };
  useEffect(() => {
    const { current: parent } = place;
    if (!parent) return undefined;
    const run = (): boolean => {
      hear.current.onRun();
      return true;
    };
    const extensions = [
      Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
      lineNumbers(),
      history(),
      indentOnInput(),
      indentUnit.of('    '),
      bracketMatching(),
      python(),
      colors,
      look,
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) hear.current.onInput(state.doc.toString());
      }),
    ];
    const view = new EditorView({ parent, state: EditorState.create({ doc: value, extensions }) });
    return () => view.destroy();
  }, [label]);
  return <div ref={place} />;
}
