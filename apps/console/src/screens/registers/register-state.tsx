import type { ReactElement } from 'react';
import { useWords, type Words } from '../../i18n/i18n.js';
import { Badge, type BadgeTone } from '../../ui/shown.js';

type State = keyof Words['fleet']['state'];

const TONES: Record<State, BadgeTone> = {
  online: 'good',
  degraded: 'warn',
  unreachable: 'bad',
  blocked: 'bad',
  expired: 'bad',
  replaced: 'bad',
  claimed_elsewhere: 'bad',
  disabled: 'neutral',
};

/** In an address: every state for which something is to be done. */
export const ATTENTION = 'attention';

export const STATES = Object.keys(TONES) as State[];

/** A state that this page does not know yet is shown by its name. */
export function RegisterState({ state }: { state: string }): ReactElement {
  const { fleet } = useWords();
  const known = STATES.find((one) => one === state);
  return known ? <Badge tone={TONES[known]}>{fleet.state[known]}</Badge> : <Badge tone="neutral">{state}</Badge>;
}
