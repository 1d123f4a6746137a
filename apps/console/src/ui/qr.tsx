import { create } from 'qrcode';
import type { ReactElement } from 'react';

const QUIET = 4;

/** Drawn as one path; always dark on white, so that every camera reads it in the dark theme too. */
export function QrCode({ text, label }: { text: string; label: string }): ReactElement {
  const { modules } = create(text, { errorCorrectionLevel: 'M' });
  const side = modules.size + 2 * QUIET;
  const path: string[] = [];
  for (let row = 0; row < modules.size; row += 1) {
    for (let column = 0; column < modules.size; column += 1) {
      if (modules.get(row, column)) path.push(`M${column + QUIET} ${row + QUIET}h1v1h-1z`);
    }
  }
  return (
    <svg className="qr" viewBox={`0 0 ${side} ${side}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <rect width={side} height={side} fill="#fff" />
      <path d={path.join('')} fill="#000" />
    </svg>
  );
}
