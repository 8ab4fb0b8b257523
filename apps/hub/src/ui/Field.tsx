import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Common {
  label: string;
  value: string;
  onInput: (value: string) => void;
  hint?: ComponentChildren;
  /** Why the API refused the value. */
  problem?: string | undefined;
  required?: boolean;
}

/** Label, hint and problem around a control, which gets their ids. */
function Frame({
  label,
  hint,
  problem,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  children: (id: string, described: string | undefined) => ComponentChildren;
}) {
  const id = useId();
  const described = [problem !== undefined && `${id}-problem`, hint !== undefined && `${id}-hint`]
    .filter(Boolean)
    .join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, described === '' ? undefined : described)}
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** Leads to the first field that shows a problem; false, and nothing is done, unless fields show all of these. */
export function goToProblem(problems: ReadonlySet<string>): boolean {
  const shown = [...document.querySelectorAll('.field > .problem')];
  const texts = new Set(shown.map(({ textContent }) => textContent));
  if (problems.size === 0 || ![...problems].every((problem) => texts.has(problem))) return false;
  const field = shown.find(({ textContent }) => problems.has(textContent))?.parentElement;
  const fold = field?.closest('details');
  if (fold) fold.open = true;
  field?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  return true;
}

/** A line of text, or several with `rows`. */
export function TextField({
  rows,
  type = 'text',
  autocomplete,
  placeholder,
  isCode,
  isSecret,
  step,
  list,
  ...common
}: Common & {
  rows?: number;
  type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'time' | 'datetime-local';
  autocomplete?: string;
  placeholder?: string;
  isCode?: boolean;
  /** With `rows`: it is typed unseen, line breaks and all. */
  isSecret?: boolean;
  /** Of a number: `any` admits fractions. */
  step?: 'any';
  list?: string[];
}) {
  const { label, hint, problem, value, onInput, required } = common;
  const listId = useId();
  return (
    <Frame label={label} hint={hint} problem={problem}>
      {(id, described) => {
        const shared = {
          id,
          value,
          required,
          placeholder,
          'aria-describedby': described,
          'aria-invalid': problem !== undefined || undefined,
          class: isSecret ? 'code masked' : isCode ? 'code' : undefined,
          onInput: (event: Event) => onInput((event.target as HTMLInputElement).value),
        };
        if (rows !== undefined)
          return <textarea {...shared} rows={rows} spellcheck={!isCode && !isSecret} autocomplete="off" />;
        return (
          <>
            <input
              {...shared}
              type={type}
              step={step}
              autocomplete={autocomplete ?? 'off'}
              list={list && listId}
              spellcheck={isCode || type !== 'text' ? false : undefined}
            />
            {list && (
              <datalist id={listId}>
                {list.map((entry) => (
                  <option value={entry} key={entry} />
                ))}
              </datalist>
            )}
          </>
        );
      }}
    </Frame>
  );
}

/** One of a few. */
export const SelectField = ({
  options,
  ...common
}: Common & { options: readonly (readonly [value: string, label: string])[] }) => (
  <Frame label={common.label} hint={common.hint} problem={common.problem}>
    {(id, described) => (
      <select
        id={id}
        value={common.value}
        aria-describedby={described}
        aria-invalid={common.problem !== undefined || undefined}
        onChange={(event) => common.onInput((event.target as HTMLSelectElement).value)}
      >
        {options.map(([value, label]) => (
          <option value={value} key={value}>
            {label}
          </option>
        ))}
      </select>
    )}
  </Frame>
);

/** Yes or no. */
export function CheckField({
  label,
  checked,
  onChange,
  hint,
}: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: string;
}) {
  const id = useId();
  return (
    <label class="check" for={id}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange((event.target as HTMLInputElement).checked)}
      />
      <span>
        {label}
        {hint !== undefined && <span class="hint"> {hint}</span>}
      </span>
    </label>
  );
}
