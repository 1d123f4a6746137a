import type { ReactElement, ReactNode } from 'react';
import { TableHead } from './table-head.js';

interface Row {
  head: ReactNode;
  /** In the order of the titles behind the first. */
  cells: readonly ReactNode[];
}

interface Props {
  label: string;
  /** The first is that of the rows' heads. */
  titles: readonly string[];
  rows: readonly (Row & { key: string })[];
  foot?: Row;
  /** `stacked`: on a narrow screen each number stands below the other, with its title. */
  shape?: 'small' | 'stacked';
}

/** Numbers beside their names, the table scrolls by itself where it is too wide. */
export function NumberTable({ label, titles: [first, ...titles], rows, foot, shape }: Props): ReactElement {
  const line = ({ head, cells }: Row): ReactElement => (
    <>
      <th scope="row">{head}</th>
      {cells.map((cell, index) => (
        <td key={index} className="end" data-label={shape === 'stacked' ? titles[index] : undefined}>
          {cell}
        </td>
      ))}
    </>
  );
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table className={shape === undefined ? 'table' : `table table-${shape}`}>
        <TableHead names={[first]} numbers={titles} />
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>{line(row)}</tr>
          ))}
        </tbody>
        {foot && (
          <tfoot>
            <tr>{line(foot)}</tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}
