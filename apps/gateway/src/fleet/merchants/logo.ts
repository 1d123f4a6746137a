import { crc32, deflateSync, inflateSync } from 'node:zlib';

/** Dots of a logo: as wide as receipt paper prints, and no poster. */
export const MAX_LOGO = { bytes: 64 * 1024, width: 576, height: 288 } as const;

export type LogoReading = { kind: 'ok'; png: Buffer } | { kind: 'invalid'; reason: string };

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Samples of a dot by colour type; others are not PNG. */
const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const PALETTE_TYPE = 3;
/** Of the one sample or colour that is transparent; dots with an alpha of their own have none. */
const TRANSPARENCY_BYTES: Readonly<Record<number, number>> = { 0: 2, 2: 6 };
/** The highest filter type of a row. */
const MAX_FILTER = 4;

interface Chunk {
  type: string;
  data: Buffer;
}

/**
 * Reads a PNG and writes it anew, with nothing but its dots: no text, no profile, nothing behind its end. What it unpacks to is bounded
 * by the size in its head before a byte is unpacked, and must be exactly that.
 */
export function readLogo(file: Buffer): LogoReading {
  if (file.length > MAX_LOGO.bytes) return invalid(`must not be larger than ${String(MAX_LOGO.bytes)} bytes`);
  const chunks = chunksOf(file);
  const [head] = chunks ?? [];
  if (!chunks || head?.type !== 'IHDR' || head.data.length !== 13) return invalid('must be a PNG picture');
  const [width, height] = [head.data.readUInt32BE(0), head.data.readUInt32BE(4)];
  const [depth = 0, colour = 0, compression = 0, filter = 0, interlace = 0] = head.data.subarray(8);
  const samples = SAMPLES[colour];
  // Of compression and filter there is one kind each.
  if (depth !== 8 || samples === undefined || compression !== 0 || filter !== 0 || interlace !== 0) {
    return invalid('must be a PNG picture of 8 bits a sample that is not interlaced');
  }
  if (width < 1 || height < 1 || width > MAX_LOGO.width || height > MAX_LOGO.height) {
    return invalid(`must be at most ${String(MAX_LOGO.width)} × ${String(MAX_LOGO.height)} dots`);
  }
  const palette = chunks.find(({ type }) => type === 'PLTE');
  const colours = (palette?.data.length ?? 0) / 3;
  if (colour === PALETTE_TYPE && !(Number.isInteger(colours) && colours >= 1 && colours <= 256))
    return invalid('has no palette');
  const rows = unpacked(chunks, (width * samples + 1) * height);
  if (!rows || !hasGoodFilters(rows, width * samples + 1)) return invalid('is damaged');
  const transparency = chunks.find(({ type, data }) => type === 'tRNS' && isTransparency(colour, data.length, colours));
  const kept = [
    head,
    ...(colour === PALETTE_TYPE && palette ? [palette] : []),
    ...(transparency ? [transparency] : []),
    { type: 'IDAT', data: deflateSync(rows) },
    { type: 'IEND', data: Buffer.alloc(0) },
  ];
  return { kind: 'ok', png: Buffer.concat([SIGNATURE, ...kept.map(writtenChunk)]) };
}

/** Width and height of a logo that was read before. */
export function logoSize(png: Uint8Array): { width: number; height: number } {
  const bytes = Buffer.from(png.buffer, png.byteOffset, png.byteLength);
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function chunksOf(file: Buffer): Chunk[] | null {
  if (!file.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return null;
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; at + 12 <= file.length;) {
    const length = file.readUInt32BE(at);
    if (at + 12 + length > file.length) return null;
    const type = file.toString('latin1', at + 4, at + 8);
    chunks.push({ type, data: file.subarray(at + 8, at + 8 + length) });
    if (type === 'IEND') return chunks;
    at += 12 + length;
  }
  return null;
}

function unpacked(chunks: readonly Chunk[], size: number): Buffer | null {
  const packed = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
  try {
    const rows = inflateSync(packed, { maxOutputLength: size });
    return rows.length === size ? rows : null;
  } catch {
    // Whatever is wrong with it, or more than it says: it is no picture.
    return null;
  }
}

function hasGoodFilters(rows: Buffer, rowBytes: number): boolean {
  for (let at = 0; at < rows.length; at += rowBytes) if ((rows[at] ?? 0) > MAX_FILTER) return false;
  return true;
}

/** Any other one is skipped by those who show pictures; what draws PDF waits for it without end, or fails. */
function isTransparency(colour: number, bytes: number, colours: number): boolean {
  if (colour === PALETTE_TYPE) return bytes >= 1 && bytes <= colours;
  return bytes === TRANSPARENCY_BYTES[colour];
}

function writtenChunk({ type, data }: Chunk): Buffer {
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

function invalid(reason: string): LogoReading {
  return { kind: 'invalid', reason };
}
