/** Works on all of them, at most so many at a time. The first failure ends it once the calls under way have ended. */
export async function inParallel<T>(
  items: readonly T[],
  most: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const rest = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of rest) await work(item, index);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
}
