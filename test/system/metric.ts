/** The first value of a metric that a program exports; NaN: it exports none. */
export async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) || each.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}
