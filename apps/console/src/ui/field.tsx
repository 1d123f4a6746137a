import { useId, type InputHTMLAttributes, type ReactElement, type ReactNode, type SelectHTMLAttributes } from 'react';

interface Labelled {
  label: string;
  hint?: string | undefined;
  error?: string | null | undefined;
}

type InputProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'className' | 'onChange'> &
  Labelled & { onValue: (value: string) => void };

export function TextField({ label, hint, error, onValue, id, ...rest }: InputProps): ReactElement {
  const own = useId();
  const target = id ?? own;
  return (
    <Frame {...{ label, hint, error, target }}>
      <input autoComplete="off" {...rest} {...controlOf({ target, hint, error, onValue })} />
    </Frame>
  );
}

type TextProps = Labelled & {
  value: string;
  rows?: number;
  maxLength?: number;
  required?: boolean;
  onValue: (value: string) => void;
};

export function TextArea({ label, hint, error, onValue, rows = 3, ...rest }: TextProps): ReactElement {
  const target = useId();
  return (
    <Frame {...{ label, hint, error, target }}>
      <textarea {...rest} rows={rows} {...controlOf({ target, hint, error, onValue })} />
    </Frame>
  );
}

interface Control extends Omit<Labelled, 'label'> {
  target: string;
  onValue: (value: string) => void;
}

/** What every control in a frame has: the name that its label points to, what describes it, and what hears of a change. */
function controlOf({ target, hint, error, onValue }: Control) {
  return {
    id: target,
    className: 'input',
    'aria-invalid': error ? true : undefined,
    'aria-describedby': error ? `${target}-error` : hint ? `${target}-hint` : undefined,
    onChange: (event: { target: { value: string } }) => onValue(event.target.value),
  };
}

export interface Option {
  value: string;
  label: string;
}

type SelectProps = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'className' | 'onChange'> &
  Labelled & { options: readonly Option[]; onValue: (value: string) => void };

export function SelectField({ label, hint, error, options, onValue, ...rest }: SelectProps): ReactElement {
  const target = useId();
  return (
    <Frame {...{ label, hint, error, target }}>
      <select {...rest} {...controlOf({ target, hint, error, onValue })}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

interface CheckProps {
  label: ReactNode;
  checked: boolean;
  onValue: (checked: boolean) => void;
  disabled?: boolean;
}

export function CheckField({ label, checked, onValue, disabled = false }: CheckProps): ReactElement {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onValue(event.target.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

interface RadioProps<T extends string> {
  legend: string;
  name: string;
  value: T;
  options: readonly { value: T; label: string; hint?: string }[];
  onValue: (value: T) => void;
}

export function RadioField<T extends string>({ legend, name, value, options, onValue }: RadioProps<T>): ReactElement {
  return (
    <fieldset className="radios">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option.value} className="check">
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onValue(option.value)}
          />
          <span>
            {option.label}
            {option.hint !== undefined && <small className="hint">{option.hint}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface ChoiceProps {
  legend: string;
  options: readonly Option[];
  chosen: readonly string[];
  error: string | null;
  onChoose: (chosen: string[]) => void;
}

/** Any of the options. What is chosen and not offered stays chosen. */
export function ChoiceField({ legend, options, chosen, error, onChoose }: ChoiceProps): ReactElement {
  return (
    <fieldset className="radios">
      <legend>{legend}</legend>
      <div className="choice-list">
        {options.map(({ value, label }) => (
          <CheckField
            key={value}
            label={label}
            checked={chosen.includes(value)}
            onValue={(isChosen) => onChoose(isChosen ? [...chosen, value] : chosen.filter((other) => other !== value))}
          />
        ))}
      </div>
      {error !== null && (
        <small className="error" role="alert">
          {error}
        </small>
      )}
    </fieldset>
  );
}

function Frame({
  label,
  hint,
  error,
  target,
  children,
}: Labelled & { target: string; children: ReactNode }): ReactElement {
  return (
    <div className="field">
      <label htmlFor={target}>{label}</label>
      {children}
      {hint !== undefined && !error && (
        <small id={`${target}-hint`} className="hint">
          {hint}
        </small>
      )}
      {error && (
        <small id={`${target}-error`} className="error" role="alert">
          {error}
        </small>
      )}
    </div>
  );
}
