/** Who asks, and where. */
export interface Caller {
  url: string;
  authorization: string;
}

/** Milliseconds to the last byte of the answer; anything but success ends the bench. */
export async function timeOf(caller: Caller, path: string, init: RequestInit = {}): Promise<number> {
  const begun = performance.now();
  const headers = { authorization: caller.authorization, ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(`${caller.url}${path}`, { ...init, headers });
  await response.arrayBuffer();
  if (response.status > 299) throw new Error(`${path}: ${response.status}`);
  return performance.now() - begun;
}

export async function timesOf(count: number, run: () => Promise<number>): Promise<number[]> {
  const taken: number[] = [];
  for (let done = 0; done < count; done += 1) taken.push(await run());
  return taken;
}
