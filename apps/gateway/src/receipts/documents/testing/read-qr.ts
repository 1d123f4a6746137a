import { decode } from 'fast-png';
import jsqr from 'jsqr';

/** What the QR code in a PNG says; null when there is none that can be read. */
export function readQr(png: Uint8Array): string | null {
  const { data, width, height, channels } = decode(png);
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let at = 0; at < width * height; at += 1) {
    // Gray or colour, with or without transparency.
    const colour = channels < 3 ? [0, 0, 0] : [0, 1, 2];
    colour.forEach((channel, place) => (pixels[at * 4 + place] = data[at * channels + channel] ?? 0));
    pixels[at * 4 + 3] = 255;
  }
  return jsqr.default(pixels, width, height)?.data ?? null;
}
