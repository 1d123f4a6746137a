const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;

export type Colour = keyof typeof CODES;

/** Paints text, or leaves it as it is. */
export class Colours {
  constructor(readonly areOn: boolean) {}

  paint(colour: Colour, text: string): string {
    if (!this.areOn) return text;
    const [begin, end] = CODES[colour];
    return `\u001b[${begin}m${text}\u001b[${end}m`;
  }
}
