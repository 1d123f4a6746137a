import QRCode from 'qrcode';

const QUIET_MODULES = 4;

/**
 * A QR code as inline SVG, one path. Mask 0 and one byte segment are fixed: looking for the prettiest mask and the
 * shortest segments costs as much as the rest of a sale, and any choice is legal and readable.
 */
export function qrSvg(text: string, title: string): string {
  const { modules } = QRCode.create([{ data: Buffer.from(text), mode: 'byte' }], {
    errorCorrectionLevel: 'M',
    maskPattern: 0,
  });
  const side = modules.size + 2 * QUIET_MODULES;
  let path = '';
  for (let row = 0; row < modules.size; row += 1) path += rowPath(modules, row);
  return (
    `<svg class="qr" role="img" aria-label="${title}" viewBox="0 0 ${String(side)} ${String(side)}" ` +
    `shape-rendering="crispEdges"><rect width="${String(side)}" height="${String(side)}" fill="#fff"/><path stroke="#000" d="${path}"/></svg>`
  );
}

function rowPath({ size, data }: { size: number; data: Uint8Array }, row: number): string {
  let path = '';
  for (let column = 0; column < size; column += 1) {
    if (data[row * size + column] !== 1) continue;
    let end = column;
    while (end < size && data[row * size + end] === 1) end += 1;
    // A line one module thick along the middle of the row: half the text of a closed rectangle.
    path += `M${String(column + QUIET_MODULES)} ${String(row + QUIET_MODULES)}.5h${String(end - column)}`;
    column = end;
  }
  return path;
}
