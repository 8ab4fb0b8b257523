/** A few choices of which one is chosen, as buttons in a row. */
export const Filter = ({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}) => (
  <div class="filter" role="group" aria-label={label}>
    {options.map(([option, text]) => (
      <button type="button" key={option} aria-pressed={option === value} onClick={() => onChange(option)}>
        {text}
      </button>
    ))}
  </div>
);
