/** Of one answer of the identity provider: its description, keys, tokens or what it says of a person have some kilobytes. */
const MAX_ANSWER_BYTES = 1024 ** 2;

/** `fetch` whose answer ends with an error beyond the bound: what reads it would gather all that comes. */
export async function boundedFetch(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(bounded()), { status, statusText, headers });
}

function bounded(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES)
        controller.error(new Error(`the identity provider answers more than ${MAX_ANSWER_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
