import QRCode from 'qrcode';

const QUIET_MODULES = 4;
/** The largest code there is (version 40) with the correction M, in one segment of bytes. */
const MAX_BYTES = 2_331;

/** A QR code as a drawing, whatever it is drawn on. */
export interface QrCode {
  /** In modules, with the quiet zone around it. */
  side: number;
  /** SVG path whose lines are one module thick: to be stroked with the width 1. */
  path: string;
}

/** Whether there is a QR code as large as this text. */
export function fitsQrCode(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_BYTES;
}

/**
 * Mask 0 and one byte segment are fixed: searching the best mask and the shortest segments costs as much as the
 * rest of a sale, and any choice is legal and readable.
 * @throws Error for a text that is too long: {@link fitsQrCode}
 */
export function qrCode(text: string): QrCode {
  const { modules } = QRCode.create([{ data: Buffer.from(text), mode: 'byte' }], {
    errorCorrectionLevel: 'M',
    maskPattern: 0,
  });
  let path = '';
  for (let row = 0; row < modules.size; row += 1) path += rowPath(modules, row);
  return { side: modules.size + 2 * QUIET_MODULES, path };
}

/** The same as inline SVG. */
export function qrSvg(text: string, title: string): string {
  const { side, path } = qrCode(text);
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
