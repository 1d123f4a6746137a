// @ts-check
/**
 * Draws receipts as PDF and PNG. It is a thread of its own, because the drawing of a long receipt takes longer than other
 * requests may wait; and plain JavaScript, because a thread starts from a file that Node.js itself can read, also in the tests.
 */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { Resvg } from '@resvg/resvg-js';
import * as fontkit from 'fontkit';
import PDFDocument from 'pdfkit';

// On Linux this is the thread's own: sales and other requests get the processor first, letters with a PDF what is left.
if (process.platform === 'linux') setPriority(0, Math.max(getPriority(0), constants.priority.PRIORITY_BELOW_NORMAL));

/** @typedef {{ kind: 'text', text: string, isBold: boolean, href: string | null }} TextLine */
/** @typedef {{ kind: 'rule' }} Rule */
/** @typedef {{ kind: 'qr', link: string, side: number, path: string }} QrDrawing */
/** @typedef {{ kind: 'picture', png: string, width: number, height: number }} Picture */
/** @typedef {TextLine | Rule | QrDrawing | Picture} Drawing */
/** @typedef {{ widthMm: number, marginMm: number, pictureWidthPx: number }} PaperSize */
/**
 * @typedef {object} PrintJob
 * @property {number} id
 * @property {'pdf' | 'png'} format
 * @property {string} language
 * @property {string} title
 * @property {number} createdAtMs
 * @property {number} columns
 * @property {PaperSize} size
 * @property {Drawing[]} lines
 */

const { resolve } = createRequire(import.meta.url);
const FAMILY = 'Noto Sans Mono';
const FONT_FILES = ['400Regular/NotoSansMono_400Regular.ttf', '700Bold/NotoSansMono_700Bold.ttf'].map((file) =>
  resolve(`@expo-google-fonts/noto-sans-mono/${file}`),
);
/** Opened once: reading a font is five sixths of the work of a receipt. Each document makes its own subset of it. */
const [REGULAR, BOLD] = FONT_FILES.map((file) => fontkit.create(readFileSync(file)));

/** Of the size of the font: every character of it is that wide, a line that high, and its text stands that deep in it. */
const ADVANCE = 0.6;
const LINE_HEIGHT = 1.42;
const BASELINE = 1.08;
const QR_SHARE = 0.6;
const POINTS_PER_MM = 72 / 25.4;
/** No page of a PDF may be higher (ISO 32000, annex C); some left for the margins. */
const MAX_PAGE_POINTS = 14_000;
/** What programs that show pictures can take. */
const MAX_PICTURE_PX = 16_000;

/** @param {Drawing} line @param {number} lineHeight @param {number} qrSide @param {number} dot size of a dot of a picture */
function heightOf(line, lineHeight, qrSide, dot = 1) {
  if (line.kind === 'qr') return qrSide + lineHeight / 2;
  if (line.kind === 'picture') return line.height * dot + lineHeight / 2;
  return line.kind === 'rule' ? lineHeight * 0.7 : lineHeight;
}

/** @param {PrintJob} job @returns {Promise<Uint8Array>} */
async function pdfOf({ language, title, createdAtMs, columns, size, lines }) {
  const [width, margin] = [size.widthMm * POINTS_PER_MM, size.marginMm * POINTS_PER_MM];
  const inner = width - 2 * margin;
  const fontSize = inner / columns / ADVANCE;
  const [lineHeight, qrSide] = [fontSize * LINE_HEIGHT, inner * QR_SHARE];
  const dotOf = (/** @type {Drawing} */ line) =>
    line.kind === 'picture' ? inner / Math.max(size.pictureWidthPx, line.width) : 1;
  const created = new Date(createdAtMs);
  const document = new PDFDocument({
    ...{ autoFirstPage: false, margin: 0, lang: language, displayTitle: true },
    info: { Title: title, Creator: 'Fiscal receipt gateway', CreationDate: created, ModDate: created },
  });
  /** @type {Buffer[]} */
  const chunks = [];
  document.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk));
  /** @type {Promise<void>} */
  const ended = new Promise((done, fail) => document.once('end', done).once('error', fail));
  // A glyph keeps the characters that it first stood for: those of another receipt must not be copied out of this one.
  for (const font of [REGULAR, BOLD]) Object.assign(font ?? {}, { _glyphs: {} });
  // An opened font is a source as well; the types of pdfkit know its bytes only.
  document.registerFont('regular', /** @type {any} */ (REGULAR)).registerFont('bold', /** @type {any} */ (BOLD));
  for (const page of pagesOf(lines, (line) => heightOf(line, lineHeight, qrSide, dotOf(line)))) {
    document.addPage({ size: [width, page.height + 2 * margin], margin: 0 });
    let y = margin;
    for (const line of page.lines) {
      if (line.kind === 'text') {
        document
          .font(line.isBold ? 'bold' : 'regular', fontSize)
          .text(line.text, margin, y, { lineBreak: false, features: [], link: line.href });
      } else if (line.kind === 'picture') {
        const pictureWidth = line.width * dotOf(line);
        document.image(Buffer.from(line.png, 'base64'), (width - pictureWidth) / 2, y, { width: pictureWidth });
      } else if (line.kind === 'rule') {
        const middle = y + heightOf(line, lineHeight, qrSide) / 2;
        document
          .moveTo(margin, middle)
          .lineTo(width - margin, middle)
          .lineWidth(0.5)
          .dash(2, { space: 1.5 })
          .stroke()
          .undash();
      } else {
        const x = (width - qrSide) / 2;
        document
          .save()
          .translate(x, y)
          .scale(qrSide / line.side)
          .path(line.path)
          .lineWidth(1)
          .stroke()
          .restore();
        document.link(x, y, qrSide, qrSide, line.link);
      }
      y += heightOf(line, lineHeight, qrSide, dotOf(line));
    }
  }
  document.end();
  await ended;
  return Buffer.concat(chunks);
}

/**
 * @param {Drawing[]} lines
 * @param {(line: Drawing) => number} height
 */
function pagesOf(lines, height) {
  /** @type {{ lines: Drawing[], height: number }[]} */
  const pages = [];
  for (const line of lines) {
    const page = pages.at(-1);
    if (page && page.height + height(line) <= MAX_PAGE_POINTS) {
      page.lines.push(line);
      page.height += height(line);
    } else pages.push({ lines: [line], height: height(line) });
  }
  return pages;
}

/** @param {PrintJob} job @returns {Uint8Array | null} null: higher than any program could show */
function pngOf({ columns, size, lines }) {
  const width = size.pictureWidthPx;
  const margin = Math.round(width / 32);
  const fontSize = (width - 2 * margin) / columns / ADVANCE;
  const lineHeight = fontSize * LINE_HEIGHT;
  /** A whole number of pixels for each module, so that its edges are sharp. */
  const moduleOf = (/** @type {QrDrawing} */ { side }) => Math.max(2, Math.floor((width * QR_SHARE) / side));
  let y = margin;
  let body = '';
  for (const line of lines) {
    if (line.kind === 'text') {
      const weight = line.isBold ? ' font-weight="700"' : '';
      body += `<text x="${margin}" y="${(y + fontSize * BASELINE).toFixed(2)}"${weight} xml:space="preserve">${escaped(line.text)}</text>`;
      y += lineHeight;
    } else if (line.kind === 'picture') {
      const share = Math.min(1, (width - 2 * margin) / line.width);
      const [w, h] = [Math.round(line.width * share), Math.round(line.height * share)];
      body += `<image x="${Math.round((width - w) / 2)}" y="${Math.round(y)}" width="${w}" height="${h}" href="data:image/png;base64,${line.png}"/>`;
      y += h + lineHeight / 2;
    } else if (line.kind === 'rule') {
      y = Math.round(y + heightOf(line, lineHeight, 0));
      const middle = y - Math.round(heightOf(line, lineHeight, 0) / 2);
      body += `<path d="M${margin} ${middle}.5H${width - margin}" stroke="#000" stroke-dasharray="4 3"/>`;
    } else {
      const side = moduleOf(line) * line.side;
      const [x, top] = [Math.floor((width - side) / 2), Math.ceil(y)];
      body += `<path transform="translate(${x} ${top}) scale(${moduleOf(line)})" stroke="#000" shape-rendering="crispEdges" d="${line.path}"/>`;
      y = top + heightOf(line, lineHeight, side);
    }
  }
  const height = Math.ceil(y + margin);
  if (height > MAX_PICTURE_PX) return null;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `font-family="${FAMILY}" font-size="${fontSize.toFixed(3)}">${body}</svg>`;
  const font = { loadSystemFonts: false, fontFiles: FONT_FILES, defaultFontFamily: FAMILY };
  return new Resvg(svg, { font, background: '#fff' }).render().asPng();
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

const port = parentPort;
if (!port) throw new Error('press-worker is a thread, not a program');
port.on('message', (/** @type {PrintJob} */ job) => void answer(job).then((result) => port.postMessage(result)));

/** @param {PrintJob} job */
async function answer(job) {
  try {
    const bytes = job.format === 'pdf' ? await pdfOf(job) : pngOf(job);
    return bytes ? { id: job.id, kind: 'printed', bytes } : { id: job.id, kind: 'too_long' };
  } catch (error) {
    return { id: job.id, kind: 'failed', message: error instanceof Error ? error.stack : String(error) };
  }
}
