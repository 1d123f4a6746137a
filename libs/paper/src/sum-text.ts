/** Tiyin (not below 0) as so'm with a thin group separator: 1 234 567.89 */
export function sumText(sumTiyin: number): string {
  const rest = sumTiyin % 100;
  // eslint-disable-next-line regexp/no-super-linear-move -- sixteen digits at most
  const whole = String((sumTiyin - rest) / 100).replace(/\B(?=(\d{3})+(?!\d))/g, '\u00a0');
  return `${whole}.${String(rest).padStart(2, '0')}`;
}
