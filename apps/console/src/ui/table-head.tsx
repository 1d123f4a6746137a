import type { ReactElement, ReactNode } from 'react';

interface Props {
  names: readonly ReactNode[];
  /** Titles of the columns behind them, which hold numbers. */
  numbers: readonly string[];
  /** Of one more column of text behind the numbers. */
  last?: string;
}

export function TableHead({ names, numbers, last }: Props): ReactElement {
  return (
    <thead>
      <tr>
        {names.map((name, index) => (
          <th key={index} scope="col">
            {name}
          </th>
        ))}
        {numbers.map((number) => (
          <th key={number} scope="col" className="end">
            {number}
          </th>
        ))}
        {last !== undefined && <th scope="col">{last}</th>}
      </tr>
    </thead>
  );
}
