import { useMutation, useQueryClient, type QueryKey, type UseMutationResult } from '@tanstack/react-query';

interface After<Result> {
  /** Of the form's draft: what was typed has been saved. */
  clear?: () => void;
  /** What it has changed: asked for anew before it counts as done. */
  refreshes: readonly QueryKey[];
  onDone?: (result: Result) => unknown;
}

/** A call that changes something. */
export function useChange<Result, Given = void>(
  call: (given: Given) => Promise<Result>,
  { clear, refreshes, onDone }: After<Result>,
): UseMutationResult<Result, Error, Given> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: call,
    onSuccess: async (result) => {
      clear?.();
      for (const queryKey of refreshes) await client.invalidateQueries({ queryKey });
      await onDone?.(result);
    },
  });
}
