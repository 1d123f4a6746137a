import type { ReactElement } from 'react';

export interface BarOf {
  key: string;
  value: number;
  /** What a person reads who points at it. */
  text: string;
}

interface Props {
  label: string;
  bars: readonly BarOf[];
}

const HEIGHT = 100;
const STEP = 10;
const WIDTH = 8;
/** Fewer bars are not drawn wider. */
const LEAST_PLACES = 12;

/** A row of bars; the highest fills the height. A screen reader gets them as a list. */
export function Bars({ label, bars }: Props): ReactElement {
  const highest = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <div className="chart">
      <svg
        viewBox={`0 0 ${Math.max(LEAST_PLACES, bars.length) * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {bars.map(({ key, value, text }, index) => {
          const height = value === 0 ? 1 : Math.max(3, (value / highest) * HEIGHT);
          return (
            <g key={key} className={value === 0 ? 'chart-none' : undefined}>
              <title>{text}</title>
              <rect x={index * STEP + 1} y={0} width={WIDTH} height={HEIGHT} className="chart-back" />
              <rect x={index * STEP + 1} y={HEIGHT - height} width={WIDTH} height={height} className="chart-bar" />
            </g>
          );
        })}
      </svg>
      <ul className="visually-hidden" aria-label={label}>
        {bars.map(({ key, text }) => (
          <li key={key}>{text}</li>
        ))}
      </ul>
    </div>
  );
}
