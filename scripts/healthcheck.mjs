/** node scripts/healthcheck.mjs <url>: ends with 0 when the URL answers 2xx in time. For containers, which have no curl. */
const url = process.argv[2] ?? '';
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(4_000) });
  if (!response.ok) throw new Error(`${response.status}: ${(await response.text()).slice(0, 500)}`);
} catch (error) {
  console.error(`${url} ${String(error)}`);
  process.exitCode = 1;
}
