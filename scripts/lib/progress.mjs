/**
 * Runs one step of a longer job and says so: at once, every few seconds while it lasts, and when it is done.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const begin = performance.now();
  const seconds = () => `${((performance.now() - begin) / 1000).toFixed(1)} s`;
  console.log(`▸ ${title} …`);
  const timer = setInterval(() => console.log(`  … ${title}: still working, ${seconds()}`), 5_000);
  try {
    const result = await work();
    console.log(`✔ ${title} (${seconds()})`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
