// Promise: a unit of measure is read as the register of goods numbers it; a number that no receipt could carry is no unit.
import { columnsOf, readEntryLine, readWorkbookRow } from './entry-patch.js';

const SPIC = '01905001001000001';

function unitsOfCell(cell: string): unknown {
  const row = (cells: string[]) => ({ number: 1, cells, faults: [] });
  const columns = columnsOf(row(['ИКПУ', 'Код единицы измерения'])) ?? new Map();
  const reading = readWorkbookRow(row([SPIC, cell]), columns, 'ru');
  return reading.kind === 'ok' ? reading.patch.units : reading;
}

function unitsOfLine(units: unknown): unknown {
  const reading = readEntryLine(JSON.stringify({ spic: SPIC, name: { ru: 'Хлеб' }, units }));
  return reading.kind === 'ok' ? reading.patch.units : reading;
}

test.each([0, 796, 10_000_000, 244_272_402, 999_999_999])('%p is a unit', (units) => {
  expect([unitsOfCell(String(units)), unitsOfLine(units)]).toEqual([units, units]);
});

test.each([-1, 1.5, 1_000_000_000, 2 ** 31])('%p is none', (units) => {
  expect([unitsOfCell(String(units)), unitsOfLine(units)]).toEqual([undefined, undefined]);
});
