// Promise: progress over a million rows is shown, on a terminal in one line that is drawn anew, in a file not in thousands of them.
import { ProgressLine } from './progress-line.js';

function output(isTTY: boolean) {
  const written: string[] = [];
  return { written, isTTY, write: (text: string) => written.push(text) };
}

test('a bar where the end is known, from the rows or from the share; else the count alone', () => {
  const shown = (total: number | null, share: number | null, rows: number): string => {
    const out = output(false);
    new ProgressLine(out, total).draw(rows, { share, rest: '2 rejected' });
    return out.written.join('');
  };
  expect(shown(1_000, null, 500)).toMatch(/^\[#{15}\.{15}\] 50 % 500 rows, \d+\/s, 2 rejected\n$/);
  expect(shown(null, 0.1, 7)).toMatch(/^\[#{3}\.{27}\] 10 % 7 rows/);
  expect(shown(null, null, 7)).toMatch(/^7 rows/);
  // Lines are counted roughly: there may be more rows than were counted.
  expect(shown(10, null, 11)).toMatch(/^\[#{30}\] 100 % 11 rows/);
  expect(shown(0, null, 0)).toMatch(/^\[\.{30}\] 0 % 0 rows/);
});

test('one line of a terminal is drawn anew and goes away at the end; a file gets no line per batch', () => {
  const [terminal, file] = [output(true), output(false)];
  const lines = [new ProgressLine(terminal, 10), new ProgressLine(file, 10)];
  for (const line of lines) {
    for (let rows = 1; rows <= 10; rows += 1) line.draw(rows);
    line.end();
  }
  expect(terminal.written[0]).toMatch(/^\r\u001b\[2K\[#/);
  expect(terminal.written.at(-1)).toBe('\r\u001b[2K');
  expect(terminal.written.join('')).not.toContain('\n');
  expect(file.written).toHaveLength(1);
});
