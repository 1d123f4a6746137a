import { faultAt } from './states.js';

interface DraftField<Value> {
  value: Value;
  error: string | null;
  onValue: (value: Value) => void;
}

/** The fields of a draft: `<TextField label={words.name} {...field('name')} />` shows what was typed, and why it was refused. */
export function draftFields<Draft extends object>(
  draft: Draft,
  change: (part: Partial<Draft>) => void,
  problem: unknown,
): <Name extends keyof Draft & string>(name: Name, pointer?: string) => DraftField<Draft[Name]> {
  return (name, pointer = `/${name}`) => ({
    value: draft[name],
    error: faultAt(problem, pointer),
    onValue: (value) => change({ [name]: value } as unknown as Partial<Draft>),
  });
}
