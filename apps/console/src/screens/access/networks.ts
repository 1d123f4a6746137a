/** One network or address in each line, or with commas. */
export function networksOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((network) => network !== '');
}
