import type { ReactElement } from 'react';
import { useWords } from '../i18n/i18n.js';
import { TextField } from '../ui/field.js';

interface Props {
  value: string;
  error?: string | null;
  onValue: (value: string) => void;
  autoFocus?: boolean;
}

/** The six digits of an authenticator app. */
export function CodeField(props: Props): ReactElement {
  const { login } = useWords();
  return (
    <TextField
      label={login.code}
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9]{6}"
      maxLength={6}
      required
      {...props}
    />
  );
}
