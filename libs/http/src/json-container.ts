/** Of a list its present index, of an object the bytes of its present name. */
interface Container {
  isList: boolean;
  index: number;
  name: [from: number, to: number];
  isNameNext: boolean;
}

/** A longer pointer says nothing to a person. */
const MAX_POINTER = 256;

/**
 * JSON pointer of the list or object that is open at this byte. Reads the bytes before it once more; call it for a body that is
 * refused.
 * @returns `''` for the outermost one, and where the pointer would be longer than 256 characters
 */
export function pointerToContainer(json: Uint8Array, end: number): string {
  const open: Container[] = [];
  for (let at = 0; at < end; at += 1) {
    const byte = json[at] ?? 0;
    const inner = open.at(-1);
    if (byte === QUOTE) {
      const closing = endOfText(json, at + 1);
      if (inner?.isNameNext) inner.name = [at + 1, closing];
      if (inner) inner.isNameNext = false;
      at = closing;
    } else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      const isList = byte === OPENING_BRACKET;
      open.push({ isList, index: 0, name: [at, at], isNameNext: !isList });
    } else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) open.pop();
    else if (byte === COMMA && inner) {
      inner.index += 1;
      inner.isNameNext = !inner.isList;
    }
  }
  const pointer = open.slice(0, -1).map(({ isList, index, name }) => `/${isList ? index : escaped(json, name)}`);
  const length = pointer.reduce((sum, step) => sum + step.length, 0);
  return length > MAX_POINTER ? '' : pointer.join('');
}

/** As it is written, without what an escape in it stands for. */
function escaped(json: Uint8Array, [from, to]: Container['name']): string {
  const name = Buffer.from(json.subarray(from, Math.min(to, from + MAX_POINTER + 1))).toString('utf8');
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

export const QUOTE = 0x22;
export const COMMA = 0x2c;
const BACKSLASH = 0x5c;
export const OPENING_BRACKET = 0x5b;
export const CLOSING_BRACKET = 0x5d;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;

/** @returns where the closing quote stands, or the end of the bytes */
export function endOfText(json: Uint8Array, start: number): number {
  for (let at = start; at < json.length; at += 1) {
    if (json[at] === BACKSLASH) at += 1;
    else if (json[at] === QUOTE) return at;
  }
  return json.length;
}
