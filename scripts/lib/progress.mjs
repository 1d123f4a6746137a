/** @type {(line: string) => void} */
let say = (line) => console.log(line);

/** For commands whose answer alone goes to standard output: it may be read by a program. */
export function reportOnStandardError() {
  say = (line) => console.error(line);
}

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
  say(`▸ ${title} …`);
  const timer = setInterval(() => say(`  … ${title}: still working, ${seconds()}`), 5_000);
  try {
    const result = await work();
    say(`✔ ${title} (${seconds()})`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
