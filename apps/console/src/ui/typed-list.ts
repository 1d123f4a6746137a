/** One entry in each line, or with commas. */
export function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}
